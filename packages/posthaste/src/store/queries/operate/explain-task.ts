import type { CapHolder, TaskFacts, WorkerFacts } from "../../../domain/task-gates.ts";
import type { TaskStatus } from "../../../domain/task-lifecycle.ts";
import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** A node and what it waits for. */
export interface NodeFacts {
  readonly status: string;
  readonly taskId: string | null;
  readonly runStatus: string;
  readonly runPausedAt: Date | null;
  /** The nodes before it that have not ended. */
  readonly openSources: readonly { readonly id: string; readonly status: string }[];
}

interface StoredFacts {
  readonly status: string;
  readonly name: string;
  readonly queue: string;
  readonly now: Date;
  readonly dueAt: Date;
  readonly claimedAt: Date | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly cancelRequestedAt: Date | null;
  readonly goodUntil: Date | null;
  readonly retryCount: number;
  readonly worker: string | null;
  readonly queuePausedAt: Date | null;
  readonly ahead: number;
  readonly isAheadAtLeast: boolean;
  /** JSON text. */
  readonly workers: string;
  readonly load: string;
}

type HolderJson = Omit<CapHolder, "startedAt"> & { readonly startedAt: string | null };
interface LoadJson {
  readonly running: number;
  readonly claimed: number;
  readonly by: readonly HolderJson[] | null;
}

/** Everything that decides whether a task is claimed, in one snapshot. For operators: it reads all active tasks. */
export function explainTask(schema: SqlText) {
  // The line before a task: the first 10,000 rows of its queue up to its place, by ready_tasks_claim_idx.
  const FACTS = statement(sql`
    with task as materialized (
      select * from ${schema}.tasks where id = $1::uuid
    ), looked as materialized (
      select ready.enqueued_at <= statement_timestamp() as is_due
        from task
       cross join lateral (
         select enqueued_at
           from ${schema}.ready_tasks
          where queue = task.queue and (priority, enqueued_at, task_id) < (task.priority, task.enqueued_at, task.id)
          order by priority, enqueued_at, task_id
          limit 10000
       ) as ready
       where task.status = 'PENDING'
    ), held as materialized (
      select active.*, sent.name, registered.name as worker
        from ${schema}.active_tasks as active
       cross join lateral (
         select name from ${schema}.submissions where task_id = active.task_id limit 1
       ) as sent
        left join ${schema}.workers as registered on registered.worker_id = active.worker_id
       where active.capped_queue is not null
         and (active.started_at is not null or active.claim_expires_at > statement_timestamp())
    ), load as materialized (
      select counted.kind, (count(*) filter (where held.started_at is not null))::int as running,
             (count(*) filter (where held.started_at is null))::int as claimed,
             (array_agg(jsonb_build_object('id', held.task_id, 'name', held.name, 'worker', held.worker, 'startedAt', held.started_at)
                        order by held.started_at nulls last, held.task_id))[1:10] as by
        from task
       cross join (values ('queue'), ('cluster')) as counted (kind)
        join held on counted.kind = 'cluster' or held.capped_queue = task.queue
       group by counted.kind
    ), living as materialized (
      select worker.name, task.queue = any (worker.queues) as serves, task.name = any (worker.task_names) as knows,
             (worker.config -> 'worker.queueMaxConcurrency' ->> task.queue)::int as queue_cap,
             (worker.config ->> 'clusterWideCap')::int as cluster_cap,
             coalesce((worker.config ->> 'prefetchBuffer')::int, 0) > 0 as prefetches, worker.concurrency,
             coalesce(busy.running, 0) as running
        from task
       cross join ${schema}.workers as worker
        left join (
          select worker_id, count(*)::int as running
            from ${schema}.active_tasks where started_at is not null group by worker_id
        ) as busy on busy.worker_id = worker.worker_id
       where worker.state = 'running'
         and worker.last_heartbeat_at > statement_timestamp() - $2::float8 * interval '1 millisecond'
    )
    select task.status as "status", task.name as "name", task.queue as "queue", statement_timestamp() as "now",
           task.enqueued_at as "dueAt", task.claimed_at as "claimedAt", task.started_at as "startedAt",
           task.finished_at as "finishedAt", task.cancel_requested_at as "cancelRequestedAt",
           task.good_until as "goodUntil", task.retry_count as "retryCount",
           (select coalesce(name, task.worker_id::text) from ${schema}.workers where worker_id = task.worker_id) as "worker",
           (select paused_at from ${schema}.queues where queue = task.queue) as "queuePausedAt",
           (select count(*)::int from looked where is_due) as "ahead",
           (select count(*) from looked) >= 10000 as "isAheadAtLeast",
           coalesce((select jsonb_object_agg(kind, jsonb_build_object('running', running, 'claimed', claimed, 'by', by))
                       from load), '{}') as "load",
           coalesce((select jsonb_agg(jsonb_build_object(
                       'name', name, 'servesQueue', serves, 'knowsName', knows, 'queueCap', queue_cap,
                       'clusterCap', cluster_cap, 'prefetches', prefetches, 'concurrency', concurrency,
                       'running', running) order by name) from living), '[]') as "workers"
      from task`);

  // Served by primary keys, and by graph_edges_to_idx.
  const NODE = statement(sql`
    select node.status as "status", node.task_id as "taskId", state.status as "runStatus", state.paused_at as "runPausedAt",
           coalesce((
             select jsonb_agg(jsonb_build_object('id', source.id, 'status', before.status) order by source.node_no)
               from ${schema}.graph_edges as edge
               join ${schema}.graph_nodes as source on source.graph_id = edge.graph_id and source.node_no = edge.from_no
               join ${schema}.workflow_nodes as before
                 on before.workflow_id = node.workflow_id and before.node_no = edge.from_no and before.item = -1
              where edge.graph_id = node.graph_id and edge.to_no = node.node_no
                and before.status not in ('COMPLETED', 'FAILED', 'SKIPPED')), '[]') as "openSources"
      from ${schema}.workflows as run
      join ${schema}.workflow_states as state on state.workflow_id = run.workflow_id
      join ${schema}.graph_nodes as named
        on named.graph_id::text || '/' || named.id = run.graph_id::text || '/' || $2::text
      join ${schema}.workflow_nodes as node
        on node.workflow_id = run.workflow_id and node.node_no = named.node_no and node.item = -1
     where run.workflow_id = $1::uuid`);

  const NODE_OF = statement(sql`
    select workflow_id as "runId", node as "node" from ${schema}.submissions
     where task_id = $1::uuid and workflow_id is not null`);

  return {
    /** @param staleAfterMs a worker lives if its last heartbeat is younger */
    async facts(db: Db, id: string, staleAfterMs: number): Promise<TaskFacts | undefined> {
      const [row] = await db.query<StoredFacts>(FACTS, [id, staleAfterMs]);
      if (row === undefined) return undefined;
      const { load, workers, status, ...facts } = row;
      const loads = JSON.parse(load) as Partial<Record<"queue" | "cluster", LoadJson>>;
      return {
        ...facts,
        status: status as TaskStatus,
        workers: JSON.parse(workers) as WorkerFacts[],
        queueLoad: readLoad(loads.queue),
        clusterLoad: readLoad(loads.cluster),
      };
    },
    async node(db: Db, runId: string, node: string): Promise<NodeFacts | undefined> {
      const [row] = await db.query<Omit<NodeFacts, "openSources"> & { openSources: string }>(NODE, [
        runId,
        node,
      ]);
      if (row === undefined) return undefined;
      return { ...row, openSources: JSON.parse(row.openSources) as NodeFacts["openSources"] };
    },
    /** The run and node of a task. Undefined: it is a plain task. */
    async nodeOf(db: Db, id: string): Promise<{ runId: string; node: string } | undefined> {
      const [row] = await db.query<{ runId: string; node: string }>(NODE_OF, [id]);
      return row;
    },
  };
}

function readLoad(load: LoadJson | undefined): TaskFacts["queueLoad"] {
  const { running = 0, claimed = 0, by } = load ?? {};
  const holders = (by ?? []).map((holder) => ({
    ...holder,
    startedAt: holder.startedAt === null ? null : new Date(holder.startedAt),
  }));
  return { running, claimed, by: holders };
}
