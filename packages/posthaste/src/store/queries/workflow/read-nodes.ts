import type { AttemptInfo, TaskFailure } from "../../../domain/result.ts";
import { sql, statement, type Db, type SqlText } from "../../sql.ts";
import { attemptsOf, instant, readAttempts, type AttemptJson } from "../read/attempts.ts";

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
  readonly isFanOut: boolean;
  readonly items: number;
  readonly itemsCompleted: number;
  readonly itemsFailed: number;
  /** JSON text. */
  readonly result: string | null;
  readonly attempts: readonly AttemptInfo[];
  readonly earlier: readonly EarlierRow[];
}

/** The state of a node before it was started again. */
export interface EarlierRow {
  readonly status: string;
  readonly taskId: string | null;
  readonly runId: string | null;
  readonly endedAt: Date | null;
  readonly error: TaskFailure | null;
  readonly attempts: readonly AttemptInfo[];
}

/** As JSON has it. */
type EarlierJson = Omit<EarlierRow, "endedAt" | "attempts"> & {
  readonly endedAt: string | null;
  readonly attempts: readonly AttemptJson[];
};

type StoredNode = Omit<NodeRow, "attempts" | "earlier"> & {
  readonly attempts: string;
  readonly earlier: string;
};

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
           node.items_left is not null as "isFanOut",
           items.total as "items", items.completed as "itemsCompleted", items.failed as "itemsFailed",
           ended.result as "result", ${attemptsOf(schema, sql`node.task_id`)} as "attempts",
           earlier.states as "earlier"
      from ${schema}.workflow_nodes as node
      join ${schema}.graph_nodes as graph on graph.graph_id = node.graph_id and graph.node_no = node.node_no
      left join ${schema}.workflow_results($1) as ended on ended.node = graph.id
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
      cross join lateral (
        select coalesce(json_agg(json_build_object(
                 'status', was.status, 'taskId', was.task_id, 'runId', was.child_id, 'endedAt', was.ended_at,
                 'error', coalesce(was.error, (select error from ${schema}.finished_tasks where task_id = was.task_id)),
                 'attempts', ${attemptsOf(schema, sql`was.task_id`)}) order by was.retries), '[]') as states
          from ${schema}.earlier_nodes as was
         where was.workflow_id = $1 and was.node_no = node.node_no and was.item = -1
      ) as earlier
     where node.workflow_id = $1 and node.item = -1
     order by node.node_no`);

  const RESULTS = statement(sql`
    select node as "node", result as "result" from ${schema}.workflow_results($1, $2::text[])`);

  const IDS = statement(sql`
    select graph.id as "id"
      from ${schema}.workflows as run join ${schema}.graph_nodes as graph on graph.graph_id = run.graph_id
     where run.workflow_id = $1 and not graph.is_gate
     order by graph.node_no`);

  return {
    async nodes(db: Db, id: string): Promise<NodeRow[]> {
      const rows = await db.query<StoredNode>(NODES, [id]);
      return rows.map((row) => ({
        ...row,
        attempts: readAttempts(JSON.parse(row.attempts) as AttemptJson[]),
        earlier: (JSON.parse(row.earlier) as EarlierJson[]).map((was) => ({
          ...was,
          endedAt: instant(was.endedAt),
          attempts: readAttempts(was.attempts),
        })),
      }));
    },
    /** Results of all nodes, or of the named ones; gates have none. */
    results: (db: Db, id: string, nodes: readonly string[] | null): Promise<NodeResultRow[]> =>
      db.query<NodeResultRow>(RESULTS, [id, nodes]),
    /** Without gates. None: there is no such run. */
    async ids(db: Db, id: string): Promise<string[]> {
      const rows = await db.query<{ id: string }>(IDS, [id]);
      return rows.map((row) => row.id);
    },
  };
}
