import pg from "pg";
import { defineTask, posthaste } from "../../../packages/posthaste/dist/index.js";
import type { Contender, Payload, Site, System, WorkOptions } from "./system.ts";

const SCHEMA = "bench_posthaste";
const silent = () => undefined;
const logger = { debug: silent, info: silent, warn: console.error, error: console.error };

/** "default" is what a user gets; "tuned" fetches ahead, as the peers' local queues do. */
export const posthasteSystem: System = {
  name: "posthaste",
  server: "postgres",
  configs: ["default", "tuned"],
  async open(site, config): Promise<Contender> {
    const contract = defineTask({ name: "bench" });
    const settings = { database: site.postgresUrl, schema: SCHEMA, logger };
    const sender = posthaste(settings);
    const apps = [sender];
    return {
      reset: () => reset(site, sender),
      send: (payload) => sender.send(contract as never, ...([payload] as never)),
      sendBulk: (payloads) => sender.sendMany(contract as never, payloads as never),
      async work({ concurrency, handler }: WorkOptions) {
        const task = defineTask({
          name: "bench",
          run: async (input: unknown) => (await handler(input as Payload)) ?? null,
        });
        const prefetchBuffer = config === "tuned" ? 500 : 0;
        const app = posthaste({ ...settings, tasks: [task], prefetchBuffer });
        apps.push(app);
        const worker = await app.worker({ concurrency }).start();
        return { stop: () => worker.stop() };
      },
      async roundTrip(payload) {
        const handle = await sender.send(contract as never, ...([payload] as never));
        return handle.value();
      },
      async close() {
        for (const app of apps) await app.close();
      },
    };
  },
};

async function reset(site: Site, app: { migrate(): Promise<unknown> }): Promise<void> {
  const client = new pg.Client(site.postgresUrl);
  await client.connect();
  await client.query(`drop schema if exists ${SCHEMA} cascade`);
  await client.end();
  await app.migrate();
}
