/** A statement that moves a run reads that run only, also with plans made on empty tables and a hundred thousand other runs. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Connection } from "../../src/store/connection.ts";
import { statement, type SqlText } from "../../src/store/sql.ts";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";
import { any, digestOf, each, graph, nested, node, when } from "../workflows/small-graphs.ts";

const db = useDatabase();
const OTHERS = 100_000;
/** A call is some twenty statements about a handful of rows, each found by three or four pages. */
const MOST_BUFFERS = 2_500;

const inner = graph("inner", [node("core")]);
const outer = graph("outer", [
  node("a"),
  node("b", "a"),
  each("items", "a"),
  each("runs", "a", inner),
  nested("deep", inner, "a"),
  any("$any1", "b", "items"),
  when("$when2", "a"),
  node("last", "$any1", "$when2", "deep", "runs"),
]);

beforeAll(async () => {
  // Or a plan from an early moment would be made anew at any moment.
  await db.sql(`
    do $$ begin
      execute (select string_agg(format('alter table posthaste.%I set (autovacuum_enabled = off)', relname), ';')
                 from pg_class where relnamespace = 'posthaste'::regnamespace and relkind = 'r');
    end $$`);
  for (const one of [inner, outer])
    await db.sql("select posthaste.store_graph($1, $2)", [digestOf(one), JSON.stringify(one)]);
});

/** Every call there is, on runs of its own; how many pages each looked at. */
async function liveOnce(session: Connection): Promise<Readonly<Record<string, number>>> {
  const looked: Record<string, number> = {};
  const call = async (name: string, text: string): Promise<void> => {
    const explained = `explain (analyze, buffers, format json) select posthaste.${text}` as SqlText;
    const [row] = await session.query<{ "QUERY PLAN": string }>(statement(explained));
    const [answer] = JSON.parse(row?.["QUERY PLAN"] ?? "[]") as [
      { Plan: { "Shared Hit Blocks": number; "Shared Read Blocks": number } },
    ];
    const { "Shared Hit Blocks": hit, "Shared Read Blocks": read } = answer.Plan;
    looked[name] = Math.max(looked[name] ?? 0, hit + read);
  };
  const start = async (): Promise<string> => {
    const id = randomUUID();
    const graphId = "(select graph_id from posthaste.workflow_graphs where name = 'outer')";
    await call("start", `start_workflows('{${id}}', array[${graphId}], '{"null"}', '{null}')`);
    return id;
  };
  /** Ends whatever of a tree waits in the line. */
  const end = async (id: string, status = "COMPLETED"): Promise<void> => {
    const ended = await db.sql<{ id: string }>(
      `with gone as (
         delete from posthaste.ready_tasks
          where task_id in (
            select task_id from posthaste.submissions join posthaste.workflows using (workflow_id) where root_id = $1)
         returning *
       )
       insert into posthaste.finished_tasks (task_id, enqueued_at, finished_at, status, result, error_code)
       select task_id, enqueued_at, clock_timestamp(), nullif($2, 'COMPLETED'), case $2 when 'COMPLETED' then '[1, 2]'::jsonb end,
              case $2 when 'FAILED' then 'NO' end
         from gone
       returning task_id as id`,
      [id, status],
    );
    const ids = ended.map((task) => task.id).join(",");
    await call("lock", `lock_runs_of('{${ids}}')`);
    await call("advance", `advance_workflows('{${ids}}')`);
  };

  const goes = await start();
  for (let wave = 0; wave < 4; wave++) await end(goes);
  const [row] = await db.sql(
    "select status from posthaste.workflow_states where workflow_id = $1",
    [goes],
  );
  expect(row).toEqual({ status: "COMPLETED" });

  const steered = await start();
  await end(steered);
  await call("pause", `pause_workflow('${steered}')`);
  await call("resume", `resume_workflow('${steered}')`);
  await call("repair", `repair_workflow('${steered}')`);
  await call("cancel", `cancel_workflow('${steered}')`);

  const fails = await start();
  await end(fails);
  await end(fails, "FAILED");
  await call("retry", `retry_workflow('${fails}', '{b,items,runs,deep}')`);
  await call("cancel", `cancel_workflow('${fails}')`);
  return looked;
}

/** Open and ended, with nested ones, waiting nodes, and histories. */
async function addOthers(): Promise<void> {
  const run = "('1' || lpad(to_hex(n), 31, '0'))::uuid";
  const child = "('2' || lpad(to_hex(n), 31, '0'))::uuid";
  const task = "('3' || lpad(to_hex(n), 31, '0'))::uuid";
  const many = `(select * from generate_series(1, ${OTHERS}) as n) as each`;
  const graphs = "(select max(graph_id) as graph_id from posthaste.workflow_graphs) as graph";
  await db.sql(`
    set synchronous_commit = off;
    insert into posthaste.workflows (workflow_id, root_id, started_at, graph_id, name, input)
    select ${run}, ${run}, now(), graph_id, 'outer', 'null' from ${graphs}, ${many};
    insert into posthaste.workflows
      (workflow_id, root_id, parent_id, parent_node, parent_item, started_at, graph_id, name, input)
    select ${child}, ${run}, ${run}, 4, -1, now(), graph_id, 'inner', 'null' from ${graphs}, ${many};
    insert into posthaste.workflow_states (workflow_id, status, open_nodes)
    select ${run}, 'RUNNING', 2 from ${many};
    insert into posthaste.workflow_states (workflow_id, status, open_nodes, ended_at)
    select ${child}, 'COMPLETED', 0, now() from ${many};
    insert into posthaste.workflow_nodes (workflow_id, node_no, item, graph_id, status, task_id, child_id)
    select ${run}, no, -1, graph_id, (array['ENQUEUED', 'PENDING', 'READY', 'FAILED', 'RUNNING'])[no + 1],
           case no when 0 then ${task} end, case no when 4 then ${child} end
      from ${graphs}, ${many}, generate_series(0, 4) as no;
    insert into posthaste.earlier_nodes (workflow_id, node_no, item, retries, task_id, status)
    select ${run}, 0, -1, 0, ${child}, 'FAILED' from ${many};
    insert into posthaste.graph_nodes (graph_id, node_no, needs, required, is_gate, is_optional, kind, id, sources)
    select 1000000 + n / 50, n % 50, 1, 1, false, false, 'task', 'node ' || n % 50, '{}' from ${many};
    insert into posthaste.graph_edges (graph_id, from_no, to_no, accepts_end)
    select 1000000 + n / 50, n % 50, n % 50 + 1, false from ${many};
    insert into posthaste.submissions (task_id, sent_at, priority, name, queue, input, workflow_id, node)
    select ${task}, now(), 100, 'a', 'default', 'null', ${run}, 'a' from ${many};
    insert into posthaste.finished_tasks (task_id, enqueued_at, finished_at)
    select ${task}, now(), now() from ${many}`);
}

describe("moves of a run", () => {
  test("read the rows of that run only", async () => {
    const early = await db.connect("moves");
    for (let life = 0; life < 3; life++) await liveOnce(early);
    const alone = await liveOnce(early);
    await addOthers();
    try {
      for (const session of [early, await db.connect("moves"), await db.connect("sends")]) {
        for (let life = 0; life < 2; life++) {
          const looked = await liveOnce(session);
          figures("pages", looked);
          for (const [name, buffers] of Object.entries(looked))
            expect.soft(buffers, `${name}, alone ${alone[name] ?? 0}`).toBeLessThan(MOST_BUFFERS);
        }
      }
    } finally {
      await db.sql(
        "truncate posthaste.workflows, posthaste.workflow_states, posthaste.workflow_nodes",
      );
      await db.sql(
        "truncate posthaste.earlier_nodes, posthaste.submissions, posthaste.finished_tasks",
      );
    }
  });
});
