import pg from "pg";
import { PgBoss, type FlowJob } from "pg-boss";
import { Replies, tellCallers } from "./replies.ts";
import type { Contender, FlowShape, Payload, System, WorkOptions } from "./system.ts";

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
        ...(isTuned && { flowIntervalSeconds: 1 }), // how soon it looks for what may follow
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
    const pool = new pg.Pool({ connectionString: site.postgresUrl, max: 4 });
    let replies: Replies | undefined;
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
      async work({ concurrency, handler, tellsCaller = false }: WorkOptions) {
        const options = isTuned
          ? { batchSize: concurrency, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }
          : { localConcurrency: concurrency };
        const id = await boss.work<Payload>(QUEUE, options, async (jobs) => {
          await Promise.all(jobs.map(({ data }) => handler(data)));
          if (tellsCaller)
            void tellCallers(
              pool,
              jobs.map(({ data }) => data.n),
            );
        });
        return { stop: () => boss.offWork(QUEUE, { id, wait: false }) };
      },
      // A caller could only poll for the state of its job.
      async roundTrip() {
        replies ??= await Replies.listen(site.postgresUrl);
        const n = next++;
        const done = replies.to(n);
        await boss.send(QUEUE, { n });
        await done;
      },
      // The whole graph is known when it is sent, so that a fan-out has its width from the start.
      startFlows: async (shape, count) => {
        const jobs = flowJobs(shape);
        // One flow is one call; sixteen callers, as a server would have.
        let left = count;
        const caller = async (): Promise<void> => {
          while (left-- > 0) await boss.flow(jobs);
        };
        await Promise.all(Array.from({ length: Math.min(16, count) }, caller));
      },
      async close() {
        await replies?.close();
        await pool.end();
        await boss.stop({ graceful: false });
      },
    };
  },
};

async function dropSchema(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`drop schema if exists ${SCHEMA} cascade`);
  await client.end();
}

function flowJobs(shape: FlowShape): FlowJob[] {
  const job = (ref: string, n: number, dependsOn: string[] = []): FlowJob => ({
    ref,
    name: QUEUE,
    data: { n },
    dependsOn,
  });
  if (shape.kind === "chain") {
    return Array.from({ length: shape.length }, (_, n) =>
      job(`n${n}`, n, n === 0 ? [] : [`n${n - 1}`]),
    );
  }
  const items = Array.from({ length: shape.width }, (_, n) => job(`i${n}`, n, ["first"]));
  return [
    job("first", 0),
    ...items,
    job(
      "join",
      0,
      items.map(({ ref }) => ref),
    ),
  ];
}
