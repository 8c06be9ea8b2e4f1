/** The worker: what it does when things around it fail. */
import type { Shows } from "./show.ts";
import { blocking } from "./worker-blocking.ts";
import { caps } from "./worker-caps.ts";
import { cancelAndEffects } from "./worker-effects.ts";
import { stopUnderLoad } from "./worker-stop.ts";

export const worker: Shows = {
  2: {
    title: "caps are exact: 20,000 tasks over 8 processes, and never one more under way at once",
    run: caps,
  },
  3: {
    title: "a cancel reaches its body within a second; effects happen once under 200 kill -9",
    run: cancelAndEffects,
  },
  4: {
    title: "blocking tasks that spin, never end or die leave their worker process alone",
    run: blocking,
  },
  6: {
    title: "kill -TERM under load: out in time, nothing held, nothing lost, no retry spent",
    run: stopUnderLoad,
  },
};
