/** A worker process of our own measurements: starts when told, reports how many bodies have run, stops when told. */
import { defineTask, posthaste } from "../../../packages/posthaste/dist/index.js";

interface Orders {
  readonly url: string;
  readonly schema: string;
  readonly queues: readonly string[];
  readonly concurrency: number;
}

const orders = JSON.parse(process.argv[2] ?? "{}") as Orders;
let runs = 0;
const task = defineTask({
  name: "bench",
  run: async (_input: unknown) => {
    runs++;
    return null;
  },
});
const silent = () => undefined;
const logger = { debug: silent, info: silent, warn: console.error, error: console.error };
const app = posthaste({ database: orders.url, schema: orders.schema, tasks: [task], logger });
await app.ensureSchema();

process.on("message", (message) => {
  if (message === "go")
    void app.worker({ concurrency: orders.concurrency, queues: orders.queues }).start();
  if (message === "stop") void app.close().then(() => process.exit(0));
});
setInterval(() => process.send?.({ runs, cpu: process.cpuUsage() }), 20);
process.send?.("ready");
