/** Reading, repairing and pruning runs among a hundred thousand: each looks at what it is asked about, and at little else. */
import { beforeAll, describe, expect, test } from "vitest";
import { migrate } from "../../src/store/migrate.ts";
import type { Db } from "../../src/store/sql.ts";
import { createStore } from "../../src/store/store.ts";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";
import { digestOf, graph, node } from "../workflows/small-graphs.ts";
import { explain, prepare, scannedBy } from "./explain.ts";

const SCHEMA = "filled";
const db = useDatabase({ isEmpty: true });
const store = createStore(SCHEMA);

const RUNS = 100_000;
const run = "lpad(to_hex(n), 32, '0')::uuid";
const task = "('0000000a' || lpad(to_hex(n), 24, '0'))::uuid";
const LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const FIRST = "00000000-0000-0000-0000-000000000000";
const some = "00000000-0000-0000-0000-00000000c350"; // 50,000

const page = { nested: false, before: LAST, limit: 100 };

/** Each query, and how many pages it may read. */
const questions: Readonly<Record<string, readonly [number, (connection: Db) => Promise<unknown>]>> =
  {
    "one run": [30, (on) => store.readWorkflows.run(on, some)],
    "its status": [10, (on) => store.readWorkflows.status(on, some)],
    "its nodes": [240, (on) => store.readNodes.nodes(on, some)],
    "their results": [100, (on) => store.readNodes.results(on, some, null)],
    "one result": [60, (on) => store.readNodes.results(on, some, ["a"])],
    "how it ended": [20, (on) => store.awaitResults.readRuns(on, [some])],
    "the latest runs": [3_000, (on) => store.readWorkflows.list(on, page)],
    "a page in the middle": [
      3_000,
      (on) => store.readWorkflows.list(on, { ...page, before: some }),
    ],
    "of a rare name": [3_000, (on) => store.readWorkflows.list(on, { ...page, name: "rare" })],
    "that run": [3_000, (on) => store.readWorkflows.list(on, { ...page, status: "RUNNING" })],
    "that are paused": [3_000, (on) => store.readWorkflows.list(on, { ...page, status: "PAUSED" })],
    "that failed": [3_000, (on) => store.readWorkflows.list(on, { ...page, status: "FAILED" })],
    "that were cancelled": [
      3_000,
      (on) => store.readWorkflows.list(on, { ...page, status: "CANCELLED" }),
    ],
    "that succeeded": [
      3_000,
      (on) => store.readWorkflows.list(on, { ...page, status: "COMPLETED" }),
    ],
    "that failed, of a rare name": [
      4_000,
      (on) => store.readWorkflows.list(on, { ...page, status: "FAILED", name: "rare" }),
    ],
    "stuck runs": [12_000, (on) => store.repairWorkflows.find(on, FIRST, 200)],
    // Before version 17, PostgreSQL goes down the tree for each id of a list.
    "a batch of old ones": [
      45_000,
      (on) => store.pruneRecords.workflows(on, { hours: [720], most: 1_000, from: null }),
    ],
    "no old ones": [
      100,
      (on) => store.pruneRecords.workflows(on, { hours: [7_200], most: 1_000, from: null }),
    ],
  };

beforeAll(async () => {
  await migrate(await db.connect("reads"), SCHEMA);
});

/** One in a thousand runs, is paused, failed or was cancelled, or has the rare name; the first thousand are old. */
async function fill(): Promise<void> {
  const stored = graph("usual", [node("a"), node("b", "a")]);
  await db.sql(`select ${SCHEMA}.store_graph($1, $2)`, [digestOf(stored), JSON.stringify(stored)]);
  await db.sql(`
    set synchronous_commit = off;
    insert into ${SCHEMA}.workflows (workflow_id, root_id, started_at, graph_id, name, input)
    select ${run}, ${run}, now(), graph_id, case when n % 1000 = 7 then 'rare' else 'usual' end, '{}'
      from ${SCHEMA}.workflow_graphs cross join generate_series(1, ${RUNS}) as n;
    insert into ${SCHEMA}.workflow_states (workflow_id, status, open_nodes, completed, ended_at)
    select ${run}, status, 0, 2, case when status not in ('RUNNING', 'PAUSED') then
             now() - case when n <= 1000 then interval '31 days' else interval '1 day' end end
      from (
        select n, case n % 1000 when 1 then 'RUNNING' when 2 then 'PAUSED' when 3 then 'FAILED' when 4 then 'CANCELLED'
                  else 'COMPLETED' end as status
          from generate_series(1, ${RUNS}) as n
      ) as each;
    insert into ${SCHEMA}.workflow_nodes (workflow_id, node_no, item, graph_id, status, ended_at, task_id)
    select ${run}, 0, -1, graph_id, case when n % 1000 = 1 then 'ENQUEUED' else 'COMPLETED' end, now(), ${task}
      from ${SCHEMA}.workflow_graphs cross join generate_series(1, ${RUNS}) as n;
    insert into ${SCHEMA}.workflow_nodes (workflow_id, node_no, item, graph_id, status, ended_at)
    select ${run}, 1, -1, graph_id, case when n % 1000 = 1 then 'PENDING' else 'SKIPPED' end, now()
      from ${SCHEMA}.workflow_graphs cross join generate_series(1, ${RUNS}) as n;
    insert into ${SCHEMA}.submissions (task_id, name, queue, priority, input, sent_at, workflow_id, node)
    select ${task}, 'a', 'default', 100, '{}', now(), ${run}, 'a' from generate_series(1, ${RUNS}) as n;
    insert into ${SCHEMA}.finished_tasks (task_id, enqueued_at, finished_at, result)
    select ${task}, now(), now(), '1' from generate_series(1, ${RUNS}) as n where n % 1000 <> 1;
    insert into ${SCHEMA}.attempts
      (task_id, attempt_no, claim_id, worker_id, claimed_at, started_at, finished_at, outcome)
    select ${task}, 1, ${task}, ${task}, now(), now(), now(), 'FAILED' from generate_series(1, 60000) as n;
    insert into ${SCHEMA}.earlier_nodes (workflow_id, node_no, item, retries, task_id, status)
    select ${run}, 0, -1, 0, ${task}, 'FAILED' from generate_series(1, 60000) as n;
    insert into ${SCHEMA}.active_tasks (task_id, claim_id, worker_id, enqueued_at, started_at, attempt_no)
    select ${task}, ${task}, ${task}, now(), now(), 1 from generate_series(1, 10000) as n`);
}

describe("queries about runs", () => {
  test("read the rows they are about, whenever they were planned", async () => {
    await fill();
    const unanalysed = await db.connect("reads");
    for (const [, ask] of Object.values(questions)) await prepare(unanalysed, ask, 7);
    await db.sql("analyze");
    const late = await db.connect("reads");

    for (const [name, [mostBuffers, ask]] of Object.entries(questions)) {
      for (const connection of [unanalysed, late]) {
        for (const runs of [1, 7]) {
          const { buffers, executionMs } = await explain(
            connection,
            await prepare(connection, ask, runs),
          );
          figures(name, { ms: executionMs, buffers });
          expect.soft(buffers, name).toBeLessThan(mostBuffers);
        }
        const scanned = await scannedBy(connection, SCHEMA, ask);
        // A graph has few rows: reading them all is as good as any other way.
        const graphs = ["workflow_graphs", "graph_nodes", "graph_edges"];
        expect
          .soft(
            scanned.filter((table) => !graphs.includes(table)),
            name,
          )
          .toEqual([]);
      }
    }
  });
});
