/** Schedules and operators among faults. */
import { run, runTests, type Shows } from "./show.ts";

export const operateChaos: Shows = {
  8: {
    title: "chaos: 10 minutes with 6 workers, schedules and operators among plain tasks",
    run: async () => {
      await runTests("database", "test/chaos/operate-checker.test.ts");
      const flags = ["--seed", "1", "--minutes", "10", "--workers", "6", "--operate"];
      await run("npm", "run", "-s", "chaos", "--", ...flags);
    },
  },
};
