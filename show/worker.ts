/** The worker: what it does when things around it fail. */
import { blocking } from "./worker-blocking.ts";
import { caps } from "./worker-caps.ts";
import { cancelAndEffects } from "./worker-effects.ts";
import { outages } from "./worker-outages.ts";
import { stopUnderLoad } from "./worker-stop.ts";
import { run, runTests, type Shows } from "./show.ts";

export const worker: Shows = {
  1: {
    title: "every field, default, range and rule of the config; every row of the error table",
    run: async () => {
      await runTests(
        "database",
        "test/config/seed-fields.test.ts",
        "test/worker/error-table.test.ts",
      );
    },
  },
  2: {
    title: "caps are exact: 20,000 tasks over 8 processes, and never one more under way at once",
    run: caps,
  },
  3: {
    title: "a cancel reaches its handler within a second; effects happen once under 200 kill -9",
    run: cancelAndEffects,
  },
  4: {
    title: "blocking tasks that spin, never end or die leave their worker process alone",
    run: blocking,
  },
  5: {
    title: "the database goes away under load, five times on each of four ways (5 minutes)",
    run: outages,
  },
  6: {
    title: "kill -TERM under load: out in time, nothing held, nothing lost, no retry spent",
    run: stopUnderLoad,
  },
  7: {
    title: "the benchmark's bars, a capped queue's among them (40 minutes)",
    run: async () => {
      await run("npm", "run", "-s", "bench", "--", "--check");
    },
  },
};
