/** Retention among a million rows that are too young for it: it looks at what is old, and at little else. */
import { beforeAll, describe, expect, test } from "vitest";
import { migrate } from "../../src/store/migrate.ts";
import type { PrunedBatch } from "../../src/store/queries/retention/prune-records.ts";
import type { Db } from "../../src/store/sql.ts";
import { createStore } from "../../src/store/store.ts";
import { idMadeAt } from "../retention/old-rows.ts";
import { figures } from "../support/figures.ts";
import { useDatabase } from "../support/database.ts";
import { explain, prepare, scannedBy } from "./explain.ts";

const SCHEMA = "filled";
const MONTH = 720;
const db = useDatabase({ isEmpty: true });
const store = createStore(SCHEMA);

// The thousand that are old lie anywhere among the others, as they do where new rows have taken the room of old ones.
const at =
  "now() - case when n % 1000 = 7 then interval '31 days' else interval '1 day' end + n * interval '1 ms'";

// The same id wherever it is asked for.
const tail = "lpad(to_hex(n), 16, '0')";
const id = idMadeAt(at, tail);
const ownId = "('a' || lpad(to_hex(n), 31, '0'))::uuid";

interface Batch {
  readonly call: (run: Db, keepHours: number) => Promise<unknown>;
  /** Rows that are old, and pages that a statement which deletes them may look at. */
  readonly mostBuffers: number;
  /** Small tables without an index on time. */
  readonly scans: readonly string[];
}

const batches: Readonly<Record<string, Batch>> = {
  "1,000 of 1,000,000 tasks": {
    call: (run, keepHours) =>
      store.pruneRecords.tasks(run, { hours: [keepHours, keepHours], most: 1_000, from: null }),
    // Before version 17, PostgreSQL goes down the tree for each id of a list.
    mostBuffers: 25_000,
    scans: [],
  },
  "no task that is ahead of the time": {
    call: (run, keepHours) =>
      store.pruneRecords.tasks(run, {
        hours: [keepHours, keepHours],
        most: 1_000,
        from: "03000000-0000-0000-0000-000000000000",
      }),
    mostBuffers: 100,
    scans: [],
  },
  "100 of 100,000 tasks of own ids": {
    call: (run, keepHours) =>
      store.pruneRecords.tasksOfOwnId(run, {
        hours: [keepHours, keepHours],
        most: 1_000,
        from: null,
      }),
    mostBuffers: 2_500,
    scans: [],
  },
  "200 of 200,000 heartbeats": {
    call: (run, keepHours) => store.pruneRecords.heartbeats(run, keepHours, 1_000),
    mostBuffers: 1_200,
    scans: [],
  },
  "100 of 100,000 states of workers": {
    call: (run, keepHours) => store.pruneRecords.workerStates(run, keepHours, 1_000),
    mostBuffers: 800,
    scans: ["active_tasks", "workers"],
  },
};

beforeAll(async () => {
  await migrate(await db.connect("reads"), SCHEMA);
});

async function fill(): Promise<void> {
  await db.sql(`
    set synchronous_commit = off;
    insert into ${SCHEMA}.submissions (task_id, name, queue, priority, input, sent_at)
    select ${id}, 'some-task', 'default', 100, '{}', ${at} - interval '1 hour' from generate_series(1, 1000000) as n;
    insert into ${SCHEMA}.finished_tasks (task_id, enqueued_at, finished_at)
    select ${id}, ${at}, ${at} from generate_series(1, 1000000) as n;
    insert into ${SCHEMA}.submissions (task_id, name, queue, priority, input, sent_at)
    select ${ownId}, 'some-task', 'default', 100, '{}', ${at} from generate_series(1, 100000) as n;
    insert into ${SCHEMA}.finished_tasks (task_id, enqueued_at, finished_at)
    select ${ownId}, ${at}, ${at} from generate_series(1, 100000) as n;
    insert into ${SCHEMA}.attempts
      (task_id, attempt_no, claim_id, worker_id, claimed_at, started_at, finished_at, outcome)
    select ${id}, 1, ${id}, ${id}, now(), now(), now(), 'FAILED' from generate_series(1, 100000) as n;
    insert into ${SCHEMA}.progress (task_id, attempt_no, updated_at, value)
    select ${id}, 1, now(), '1' from generate_series(1, 100000) as n;
    insert into ${SCHEMA}.heartbeats (task_id, claim_id, sender_id, sent_at, pid, role, hostname)
    select ${id}, ${id}, ${id}, ${at}, 1, 'runner', 'h' from generate_series(1, 200000) as n;
    insert into ${SCHEMA}.worker_states
      (worker_id, taken_at, hostname, pid, state, concurrency, tasks_running, tasks_claimed, cpu_percent, rss_bytes,
       heap_bytes, loop_lag_ms, config)
    select ${id}, ${at}, 'h', 1, 'running', 1, 0, 0, 0, 0, 0, 0, '{}' from generate_series(1, 100000) as n`);
}

describe("pruneRecords", () => {
  test("reads the rows it deletes, also with a plan made on empty tables", async () => {
    const early = await db.connect("reads");
    for (const { call } of Object.values(batches))
      await prepare(early, (run) => call(run, MONTH), 7);
    await fill();
    const late = await db.connect("reads");

    for (const [name, { call, mostBuffers, scans }] of Object.entries(batches)) {
      for (const connection of [early, late]) {
        const prepared = await prepare(connection, (run) => call(run, MONTH));
        const { buffers, executionMs } = await explain(connection, prepared);
        figures(name, { ms: executionMs, buffers });
        expect.soft(buffers, name).toBeLessThan(mostBuffers);
        const scanned = await scannedBy(connection, SCHEMA, (on) => call(on, MONTH));
        expect
          .soft(
            // A row for each task name.
            scanned.filter((table) => table !== "task_definitions" && !scans.includes(table)),
            name,
          )
          .toEqual([]);
        // Where nothing is old, there is next to nothing to look at.
        const nothing = await prepare(connection, (run) => call(run, 2 * MONTH));
        expect.soft((await explain(connection, nothing)).buffers, name).toBeLessThan(100);
      }
    }
  });

  test("walks over 100,000 old tasks that ended lately, ten thousand at a time", async () => {
    const sent = "now() - interval '40 days' + (n * 7919 % 100000) * interval '1 s'";
    await db.sql(`
    with each as materialized (select ${idMadeAt(sent, tail)} as id from generate_series(1, 100000) as n), sent as (
      insert into ${SCHEMA}.submissions (task_id, name, queue, priority, input, sent_at)
      select id, 'some-task', 'default', 100, '{}', now() - interval '40 days' from each
    )
    insert into ${SCHEMA}.finished_tasks (task_id, enqueued_at, finished_at)
    select id, now(), now() from each`);
    const connection = await db.connect("reads");
    let from: string | null = null;
    for (let batch = 0; batch < 10; batch++) {
      const start: string | null = from;
      const call = (run: Db): Promise<PrunedBatch> =>
        store.pruneRecords.tasks(run, { hours: [MONTH, MONTH], most: 1_000, from: start });
      const { buffers, executionMs } = await explain(connection, await prepare(connection, call));
      figures("10,000 walked over", { ms: executionMs, buffers });
      // Each row is looked at twice at most, and no submission is.
      expect.soft(buffers).toBeLessThan(21_000);
      from = (await call(connection)).reached;
    }
    const rest = await store.pruneRecords.tasks(connection, {
      hours: [MONTH, MONTH],
      most: 1_000,
      from: from,
    });
    expect(rest.pruned).toBe(1_000);
  });
});
