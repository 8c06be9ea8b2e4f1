import pg from "pg";
import { defineTask, posthaste } from "../../../packages/posthaste/dist/index.js";
import type { Contender, Payload, Place, Site, System, WorkOptions } from "./system.ts";

const usual: Place = { schema: "bench_posthaste", queues: ["default"] };
const silent = () => undefined;
const logger = { debug: silent, info: silent, warn: console.error, error: console.error };

/**
 * "default" is what a user gets; "tuned" fetches ahead, as the peers' local queues do. "capped", which takes part only in a
 * measurement of ours alone, lets 100 tasks of each queue run at once, whatever the number of processes. "requeue" is
 * "default" with tasks that say they may run again after a crash; "requeue-1s" has the shortest grace there is.
 */
export const posthasteSystem: System = {
  name: "posthaste",
  server: "postgres",
  configs: ["default", "tuned"],
  async open(site, config, { schema, queues } = usual): Promise<Contender> {
    let handle: WorkOptions["handler"] = () => null;
    const task = defineTask({
      name: "bench",
      ...(config.startsWith("requeue") ? { onCrash: "requeue" } : {}),
      run: async (input: Payload) => {
        await handle(input);
        return null;
      },
    });
    const prefetchBuffer = config === "tuned" ? 500 : 0;
    const capped = Object.fromEntries(queues.map((queue) => [queue, { maxConcurrency: 100 }]));
    const app = posthaste({
      database: site.postgresUrl,
      schema,
      logger,
      tasks: [task],
      prefetchBuffer,
      ...(config === "requeue-1s" ? { recovery: { crashGraceMs: 1_000 } } : {}),
      ...(config === "capped" ? { queues: capped } : {}),
    });
    return {
      connect: () => app.ensureSchema(),
      reset: () => reset(site, schema, app),
      send: (payload) => app.send(task, payload),
      sendBulk: (payloads) => app.sendMany(task, payloads),
      async work({ concurrency, handler }: WorkOptions) {
        handle = handler;
        const worker = await app.worker({ concurrency, queues }).start();
        return { stop: () => worker.stop() };
      },
      async roundTrip(payload) {
        const sent = await app.send(task, payload);
        return sent.value();
      },
      close: () => app.close(),
    };
  },
};

async function reset(
  site: Site,
  schema: string,
  app: { migrate(): Promise<unknown> },
): Promise<void> {
  const client = new pg.Client(site.postgresUrl);
  await client.connect();
  await client.query(`drop schema if exists ${schema} cascade`);
  await client.end();
  await app.migrate();
}
