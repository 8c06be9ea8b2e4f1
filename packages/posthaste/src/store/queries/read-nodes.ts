import { sql, statement, type Db, type SqlText } from "../sql.ts";
import type { AttemptRow } from "./read-task.ts";

export interface NodeRow {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  /** Its task's name. */
  readonly task: string | null;
  readonly taskId: string | null;
  readonly runId: string | null;
  readonly enqueuedAt: Date | null;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly retries: number;
  readonly isFanOut: boolean;
  readonly items: number;
  readonly itemsCompleted: number;
  readonly itemsFailed: number;
  /** JSON text. */
  readonly result: string | null;
}

export interface EarlierRow {
  readonly id: string;
  readonly retries: number;
  readonly status: string;
  readonly taskId: string | null;
  readonly runId: string | null;
  readonly endedAt: Date | null;
  /** JSON text. */
  readonly error: string | null;
}

export interface NodeAttemptRow extends AttemptRow {
  readonly taskId: string;
}

export interface NodeResultRow {
  readonly node: string;
  /** JSON text. Null: it has not ended. */
  readonly result: string | null;
}

/** The nodes of one run. Served by the primary keys of workflow_nodes and earlier_nodes, and the ids of tasks. */
export function readNodes(schema: SqlText) {
  // Row by row, from the run's own nodes: a join could read a table of tasks from end to end. Whether a task has begun is
  // asked of all three tables in one statement, so that one which moves is not missed.
  const NODES = statement(sql`
    select graph.id as "id", graph.kind as "kind",
           case when node.status = 'ENQUEUED' and began.at is not null then 'RUNNING' else node.status end as "status",
           graph.task_name as "task", node.task_id as "taskId", node.child_id as "runId",
           coalesce(sent.at, nested.at, first_item.at) as "enqueuedAt",
           coalesce(began.at, nested.at, first_item.at) as "startedAt", node.ended_at as "endedAt",
           coalesce(node.retries, 0) as "retries", node.items_left is not null as "isFanOut",
           items.total as "items", items.completed as "itemsCompleted", items.failed as "itemsFailed",
           said.result as "result"
      from ${schema}.workflow_nodes as node
      join ${schema}.graph_nodes as graph on graph.graph_id = node.graph_id and graph.node_no = node.node_no
      left join ${schema}.workflow_results($1) as said on said.node = graph.id
      left join lateral (
        select sent_at as at from ${schema}.submissions where task_id = node.task_id limit 1
      ) as sent on true
      left join lateral (
        select min(started_at) as at from (
          select started_at from ${schema}.attempts where task_id = node.task_id
          union all
          select started_at from ${schema}.active_tasks where task_id = node.task_id
          union all
          select started_at from ${schema}.finished_tasks where task_id = node.task_id
        ) as runs
      ) as began on true
      left join lateral (
        select started_at as at from ${schema}.workflows where workflow_id = node.child_id limit 1
      ) as nested on true
      left join lateral (
        select coalesce(
                 (select sent_at from ${schema}.submissions where task_id = item.task_id),
                 (select started_at from ${schema}.workflows where workflow_id = item.child_id)) as at
          from ${schema}.workflow_nodes as item
         where item.workflow_id = $1 and item.node_no = node.node_no and item.item = 0
      ) as first_item on true
      cross join lateral (
        select count(*)::int as total, (count(*) filter (where item.status = 'COMPLETED'))::int as completed,
               (count(*) filter (where item.status in ('FAILED', 'SKIPPED')))::int as failed
          from ${schema}.workflow_nodes as item
         where item.workflow_id = $1 and item.node_no = node.node_no and item.item >= 0
      ) as items
     where node.workflow_id = $1 and node.item = -1
     order by node.node_no`);

  // What each node was before it was started over.
  const EARLIER = statement(sql`
    select graph.id as "id", was.retries as "retries", was.status as "status", was.task_id as "taskId",
           was.child_id as "runId", was.ended_at as "endedAt",
           coalesce(was.error, (select error from ${schema}.finished_tasks where task_id = was.task_id)) as "error"
      from ${schema}.earlier_nodes as was
      join ${schema}.workflows as run on run.workflow_id = was.workflow_id
      join ${schema}.graph_nodes as graph on graph.graph_id = run.graph_id and graph.node_no = was.node_no
     where was.workflow_id = $1 and was.item = -1
     order by was.node_no, was.retries`);

  // Of the tasks that are and were: the last attempt is the row in finished_tasks, the running one that in active_tasks.
  const ATTEMPTS = statement(sql`
    with task as materialized (
      select task_id from ${schema}.workflow_nodes where workflow_id = $1 and item = -1 and task_id is not null
      union all
      select task_id from ${schema}.earlier_nodes where workflow_id = $1 and item = -1 and task_id is not null
    )
    select task.task_id as "taskId", run.*
      from task cross join lateral (
        select attempt_no as "attempt", outcome as "outcome", outcome = 'FAILED' as "willRetry",
               started_at as "startedAt", finished_at as "finishedAt", error_code as "errorCode", error as "error",
               worker_id as "workerId"
          from ${schema}.attempts where task_id = task.task_id
        union all
        select coalesce(attempt_no, 1), 'RUNNING', false, started_at, null, null, null, worker_id
          from ${schema}.active_tasks where task_id = task.task_id and started_at is not null
        union all
        select coalesce(attempt_no, 1), coalesce(status, 'COMPLETED'), false, started_at, finished_at, error_code, error,
               worker_id
          from ${schema}.finished_tasks where task_id = task.task_id and started_at is not null
      ) as run
     order by 1, 2`);

  const RESULTS = statement(sql`
    select node as "node", result as "result" from ${schema}.workflow_results($1, $2::text[])`);

  const IDS = statement(sql`
    select graph.id as "id"
      from ${schema}.workflows as run join ${schema}.graph_nodes as graph on graph.graph_id = run.graph_id
     where run.workflow_id = $1 and not graph.is_gate
     order by graph.node_no`);

  return {
    nodes: (db: Db, id: string): Promise<NodeRow[]> => db.query<NodeRow>(NODES, [id]),
    earlier: (db: Db, id: string): Promise<EarlierRow[]> => db.query<EarlierRow>(EARLIER, [id]),
    attempts: (db: Db, id: string): Promise<NodeAttemptRow[]> =>
      db.query<NodeAttemptRow>(ATTEMPTS, [id]),
    /** Of all nodes, or of those named; gates have none. */
    results: (db: Db, id: string, nodes: readonly string[] | null): Promise<NodeResultRow[]> =>
      db.query<NodeResultRow>(RESULTS, [id, nodes]),
    /** Without gates. None: there is no such run. */
    async ids(db: Db, id: string): Promise<string[]> {
      const rows = await db.query<{ id: string }>(IDS, [id]);
      return rows.map((row) => row.id);
    },
  };
}
