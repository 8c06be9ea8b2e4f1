import { DBOS, DBOSClient } from "@dbos-inc/dbos-sdk";
import pg from "pg";
import type { Contender, Payload, System, WorkOptions } from "./system.ts";

const SCHEMA = "bench_dbos";
const QUEUE = "bench";
const WORKFLOW = "bench";

/** A durable-workflow engine that does more for each task; "tuned" polls every 5 ms instead of every second. */
export const dbosSystem: System = {
  name: "dbos",
  server: "postgres",
  configs: ["default", "tuned"],
  async open(site, config): Promise<Contender> {
    const place = {
      systemDatabaseUrl: site.postgresUrl,
      systemDatabaseSchemaName: SCHEMA,
      systemDatabasePoolSize: 20,
    };
    let handle: (payload: Payload) => unknown = () => null;
    DBOS.registerWorkflow(async (payload: Payload) => (await handle(payload)) ?? null, {
      name: WORKFLOW,
    });
    DBOS.setConfig({ name: "bench", ...place, logLevel: "error" });
    let client: DBOSClient | undefined;
    const enqueue = async (payload: Payload) => {
      client ??= await DBOSClient.create({ ...place, applicationName: "bench" });
      return client.enqueue({ queueName: QUEUE, workflowName: WORKFLOW }, payload);
    };
    const launch = async (concurrency: number): Promise<void> => {
      await DBOS.launch();
      await DBOS.registerQueue(QUEUE, {
        workerConcurrency: concurrency,
        ...(config === "tuned" ? { minPollingIntervalMs: 5 } : {}),
      });
    };
    return {
      async reset() {
        const admin = new pg.Client(site.postgresUrl);
        await admin.connect();
        await admin.query(`drop schema if exists ${SCHEMA} cascade`);
        await admin.end();
        // Launching makes the schema; then nothing works until `work` is called.
        await launch(1);
        await DBOS.shutdown();
      },
      send: enqueue,
      sendBulk: (payloads) => inTurns(payloads, 20, enqueue),
      async work({ concurrency, handler }: WorkOptions) {
        handle = handler;
        await launch(concurrency);
        return { stop: () => DBOS.shutdown() };
      },
      roundTrip: async (payload) => (await enqueue(payload)).getResult(),
      async close() {
        await client?.destroy();
      },
    };
  },
};

/** It has no bulk call: as many callers as it has connections. */
async function inTurns(
  payloads: readonly Payload[],
  callers: number,
  send: (payload: Payload) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (let n = next++; n < payloads.length; n = next++) await send(payloads[n] as Payload);
    }),
  );
}
