/** Drives runs without workers: starts them, ends their tasks, and reads their state. */
import { randomUUID } from "node:crypto";
import type { WorkflowGraph } from "../../src/domain/workflow-graph.ts";
import type { TestDatabase } from "../support/database.ts";

type Sql = TestDatabase["sql"];

export interface LinedTask {
  readonly id: string;
  readonly workflowId: string;
  /** The node's name in the graph, with the number of an item: `parcels[3]`. */
  readonly node: string;
  readonly input: unknown;
}

export interface TaskEnd {
  readonly id: string;
  readonly status: "COMPLETED" | "FAILED" | "CANCELLED" | "EXPIRED";
  readonly value?: unknown;
  readonly error?: { readonly code: string; readonly message: string };
}

export interface StoredRun {
  readonly id: string;
  readonly parentId: string | null;
  readonly parentNode: string | null;
  /** -1: nested in a node, not in one of its items. */
  readonly parentItem: number | null;
  readonly status: string;
  readonly result: unknown;
  readonly error: { readonly code: string; readonly data?: unknown } | null;
}

export interface StoredNode {
  readonly workflowId: string;
  readonly node: string;
  readonly kind: string;
  /** -1: the node itself. */
  readonly item: number;
  readonly status: string;
  readonly taskId: string | null;
  /** Null: the node has not ended. */
  readonly result: {
    readonly ok: boolean;
    readonly value?: unknown;
    readonly error?: { code: string };
  } | null;
}

/** Nested graphs come before the graphs that nest them. Digests are those that the graphs name. */
export async function storeGraphs(
  sql: Sql,
  graphs: readonly { readonly digest: string; readonly graph: WorkflowGraph }[],
): Promise<Map<string, number>> {
  const ids = new Map<string, number>();
  for (const { digest, graph } of graphs) {
    const [row] = await sql<{ id: number }>("select posthaste.store_graph($1, $2) as id", [
      digest,
      JSON.stringify(graph),
    ]);
    if (row !== undefined) ids.set(digest, row.id);
  }
  return ids;
}

/** Returns the ids of the runs, in the order asked for. */
export async function startRuns(
  sql: Sql,
  runs: readonly { readonly graphId: number; readonly input: unknown }[],
): Promise<string[]> {
  const ids = runs.map(() => randomUUID());
  await sql("select posthaste.start_workflows($1::uuid[], $2::int[], $3::jsonb[], $4::text[])", [
    ids,
    runs.map(({ graphId }) => graphId),
    runs.map(({ input }) => JSON.stringify(input)),
    runs.map(() => null),
  ]);
  return ids;
}

/** Tasks of nodes that wait in the line. */
export async function linedTasks(sql: Sql): Promise<LinedTask[]> {
  return sql<LinedTask & Record<string, unknown>>(`
    select s.task_id as "id", s.workflow_id as "workflowId", s.node as "node", s.input as "input"
      from posthaste.ready_tasks as r join posthaste.submissions as s using (task_id)
     where s.workflow_id is not null
     order by s.task_id`);
}

/** Ends tasks that wait in the line, all in one transaction, as the engine does it. */
export async function endTasks(sql: Sql, ends: readonly TaskEnd[]): Promise<void> {
  const ids = ends.map(({ id }) => id);
  await sql("begin");
  await sql("select posthaste.lock_runs_of($1::uuid[])", [ids]);
  await sql(
    `with said as (
       select * from jsonb_to_recordset($1::jsonb) as said (id uuid, status text, value jsonb, error jsonb)
     ), gone as (
       delete from posthaste.ready_tasks using said where task_id = said.id
       returning task_id, enqueued_at, said.status, said.value, said.error
     )
     insert into posthaste.finished_tasks (task_id, enqueued_at, finished_at, status, error_code, result, error)
     select task_id, enqueued_at, clock_timestamp(), nullif(status, 'COMPLETED'), error ->> 'code',
            case status when 'COMPLETED' then coalesce(value, 'null') end, error
       from gone`,
    [JSON.stringify(ends)],
  );
  await sql("select posthaste.advance_workflows($1::uuid[])", [ids]);
  await sql("commit");
}

export async function readRuns(sql: Sql): Promise<StoredRun[]> {
  return sql<StoredRun & Record<string, unknown>>(`
    select w.workflow_id as "id", w.parent_id as "parentId", w.parent_item as "parentItem", s.status, s.result, s.error,
           (select g.id from posthaste.workflows as p join posthaste.graph_nodes as g using (graph_id)
             where p.workflow_id = w.parent_id and g.node_no = w.parent_node) as "parentNode"
      from posthaste.workflows as w join posthaste.workflow_states as s using (workflow_id)`);
}

export async function readNodes(sql: Sql): Promise<StoredNode[]> {
  return sql<StoredNode & Record<string, unknown>>(`
    select n.workflow_id as "workflowId", g.id as "node", g.kind, n.item, n.status, n.task_id as "taskId",
           posthaste.node_result(n.workflow_id, n.node_no, n.item) as "result"
      from posthaste.workflow_nodes as n join posthaste.graph_nodes as g using (graph_id, node_no)
     order by n.workflow_id, n.node_no, n.item`);
}
