/** Statements of commands that watch a busy database: each reads by an index, however many tasks there are. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Db } from "../../src/store/sql.ts";
import { addWorker } from "../recovery/recovery-kit.ts";
import { addManyEnded } from "../retention/old-rows.ts";
import { useDatabase } from "../support/database.ts";
import { explain, prepare, type Explained } from "./explain.ts";

const db = useDatabase();
const { readActivity, readTimeline, readGraph, readWorkerConfigs } = db.store;
const MANY = 30_000;

/** Planned seven times, so that a plan for any values is among those. */
async function explained(call: (run: Db) => Promise<unknown>): Promise<Explained> {
  const connection = await db.connect("reads");
  return explain(connection, await prepare(connection, call, 7));
}

beforeAll(async () => {
  await addManyEnded(db, MANY, { sent: "now()", ended: "now()" });
  await db.sql(`insert into posthaste.heartbeats (task_id, claim_id, sender_id, sent_at, pid, role, hostname)
    select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now(), 1, 'runner', 'h' from generate_series(1, ${MANY})`);
  const workerId = await addWorker(db);
  await db.sql(
    `insert into posthaste.worker_states (worker_id, hostname, pid, state, concurrency, tasks_running, tasks_claimed,
       cpu_percent, rss_bytes, heap_bytes, loop_lag_ms, config)
     select case when n % 100 = 0 then $1 else gen_random_uuid() end, 'h', 1, 'running', 1, 0, 0, 0, 0, 0, 0, '{}'
       from generate_series(1, ${MANY}) as n`,
    [workerId],
  );
  await db.sql("analyze");
});

describe("operators' statements", () => {
  test.each([
    ["samples of workers", (run: Db) => readActivity.samples(run)],
    ["configs of workers", (run: Db) => readWorkerConfigs(run)],
    ["heartbeats of a task", (run: Db) => readTimeline.heartbeats(run, randomUUID())],
    ["facts about a task", (run: Db) => readTimeline.facts(run, randomUUID())],
    ["the graph of a run", (run: Db) => readGraph(run, randomUUID())],
  ])("%s are found by an index", async (_what, call) => {
    const { scannedTables, rowsRead } = await explained(call);
    const small = ["workers"]; // a row for each worker of the last days
    expect(scannedTables.filter((table) => !small.includes(table))).toEqual([]);
    expect(rowsRead).toBeLessThan(100);
  });
});
