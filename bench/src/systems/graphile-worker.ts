import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { Replies, tellCallers } from "./replies.ts";
import type { Contender, Payload, System, WorkOptions } from "./system.ts";

const SCHEMA = "bench_graphile";
const TASK = "bench";
const quiet = new Logger(() => () => undefined);

/** "tuned" is what its performance page advises: a local queue, and completions in batches. */
export const graphileWorkerSystem: System = {
  name: "graphile-worker",
  server: "postgres",
  configs: ["default", "tuned"],
  async open(site, config): Promise<Contender> {
    const pool = new pg.Pool({ connectionString: site.postgresUrl, max: 20 });
    pool.on("error", () => undefined);
    const makeUtils = async () => {
      const made = await makeWorkerUtils({ pgPool: pool, schema: SCHEMA, logger: quiet });
      await made.migrate();
      return made;
    };
    let utils = await makeUtils();
    let replies: Replies | undefined;
    let next = 0;
    return {
      async reset() {
        await utils.release();
        await pool.query(`drop schema if exists ${SCHEMA} cascade`);
        utils = await makeUtils();
      },
      send: (payload) => utils.addJob(TASK, payload),
      async sendBulk(payloads) {
        for (let i = 0; i < payloads.length; i += 5_000) {
          await utils.addJobs(
            payloads.slice(i, i + 5_000).map((payload) => ({ identifier: TASK, payload })),
          );
        }
      },
      async work({ concurrency, handler, tellsCaller = false }: WorkOptions) {
        const batching =
          config === "tuned"
            ? {
                localQueue: { size: Math.max(2_000, concurrency + 1) },
                completeJobBatchDelay: 0,
                failJobBatchDelay: 0,
              }
            : {};
        const runner = await run({
          pgPool: pool,
          schema: SCHEMA,
          logger: quiet,
          noHandleSignals: true,
          taskList: { [TASK]: async (payload) => void (await handler(payload as Payload)) },
          preset: { worker: { concurrentJobs: concurrency, schema: SCHEMA, ...batching } },
        });
        if (tellsCaller)
          runner.events.on("job:success", ({ job }) => {
            void tellCallers(pool, [(job.payload as Payload).n]);
          });
        return { stop: () => runner.stop() };
      },
      // It keeps no results; that the job is done is what a caller can learn.
      async roundTrip() {
        replies ??= await Replies.listen(site.postgresUrl);
        const n = next++;
        const done = replies.to(n);
        await utils.addJob(TASK, { n });
        await done;
      },
      async close() {
        await replies?.close();
        await utils.release();
        await pool.end();
      },
    };
  },
};
