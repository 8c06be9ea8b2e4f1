/** A whole program: it sends, starts a worker, and exits. In a thread its first awaited use of the app never returns. */
import { setImmediate as turn } from "node:timers/promises";
import { defineTask, posthaste } from "../../../src/index.ts";

const steps: string[] = [];

const report = defineTask({
  name: "report",
  blocking: true,
  run: async () => {
    await turn();
    return steps;
  },
});

/** Uses the app from its handler, as any task may. */
const useApp = defineTask({
  name: "use-app",
  blocking: true,
  run: async (how: "check" | "worker" | "runWorker") => {
    if (how === "check") return (await app.check()).length;
    if (how === "worker") return app.worker().id;
    await app.runWorker();
    return null;
  },
});

export const app = posthaste({
  database: "postgres://nobody@127.0.0.1:1/none",
  tasks: [report, useApp],
});
steps.push("app made");
void app
  .worker()
  .start()
  .then(() => steps.push("worker started"));
void app.send(report).catch(() => steps.push("sent in vain"));
steps.push("went on");
await app.runWorker();
steps.push("worker stopped");
process.exit(0);
