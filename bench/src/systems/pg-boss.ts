import pg from "pg";
import { PgBoss } from "pg-boss";
import type { Contender, Payload, System, WorkOptions } from "./system.ts";

const SCHEMA = "bench_pgboss";
const QUEUE = "bench";

/**
 * "default": as it comes, one worker that takes one job after the other. "tuned": a partition of its own, LISTEN/NOTIFY,
 * and batches as large as the concurrency that are fetched without a pause. "quiet" is "tuned" without NOTIFY, which
 * sends faster. "heartbeats": "tuned" with the shortest heartbeat that it allows and a monitor that looks every second.
 */
export const pgBossSystem: System = {
  name: "pg-boss",
  server: "postgres",
  configs: ["default", "tuned", "quiet", "heartbeats"],
  async open(site, config): Promise<Contender> {
    const isTuned = config !== "default";
    const isWatched = config === "heartbeats";
    const notify = config === "tuned" || isWatched;
    const start = async (): Promise<PgBoss> => {
      const boss = new PgBoss({
        connectionString: site.postgresUrl,
        schema: SCHEMA,
        max: 20,
        useListenNotify: notify,
        ...(isWatched && { superviseIntervalSeconds: 1, monitorIntervalSeconds: 1 }),
      });
      boss.on("error", (error) => console.error(error));
      await boss.start();
      return boss;
    };
    const createQueue = (boss: PgBoss) =>
      boss.createQueue(QUEUE, {
        ...(isTuned && { partition: true, notify }),
        ...(isWatched && { heartbeatSeconds: 10, retryLimit: 10, retryDelay: 0 }),
      });
    let boss = await start();
    await createQueue(boss);
    const waiting = new Map<number, (value: unknown) => void>();
    let next = 0;
    return {
      async reset() {
        await boss.stop({ graceful: false });
        await dropSchema(site.postgresUrl);
        boss = await start();
        await createQueue(boss);
      },
      send: (payload) => boss.send(QUEUE, payload),
      async sendBulk(payloads) {
        for (let i = 0; i < payloads.length; i += 5_000) {
          await boss.insert(
            QUEUE,
            payloads.slice(i, i + 5_000).map((data) => ({ data })),
          );
        }
      },
      async work({ concurrency, handler }: WorkOptions) {
        const options = isTuned
          ? { batchSize: concurrency, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }
          : { localConcurrency: concurrency };
        const id = await boss.work<Payload>(QUEUE, options, async (jobs) => {
          const values = await Promise.all(jobs.map(({ data }) => handler(data)));
          // The result is known to the sender when the batch is stored; here, in its own process, a little earlier.
          for (const [index, { data }] of jobs.entries()) waiting.get(data.n)?.(values[index]);
        });
        return { stop: () => boss.offWork(QUEUE, { id, wait: false }) };
      },
      async roundTrip() {
        const n = next++;
        const done = new Promise((resolve) => waiting.set(n, resolve));
        await boss.send(QUEUE, { n });
        await done;
        waiting.delete(n);
      },
      close: () => boss.stop({ graceful: false }),
    };
  },
};

async function dropSchema(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`drop schema if exists ${SCHEMA} cascade`);
  await client.end();
}
