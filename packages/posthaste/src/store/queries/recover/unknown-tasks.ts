import { countEnds } from "../statistics/count-ends.ts";
import { sql, statement, uuidArray, type Db, type SqlText } from "../../sql.ts";
import { isQueueOpen } from "../claim/pick-ready.ts";

/** Where a page of ready rows ended. */
export interface ReadyPlace {
  readonly queue: string;
  readonly priority: number;
  /** A timestamp as PostgreSQL writes it, to the microsecond. */
  readonly at: string;
  readonly id: string;
}

/** Tasks of one name in one queue that no living worker of that queue has a handler for. */
export interface UnknownName {
  readonly queue: string;
  readonly name: string;
  /** A worker of the registry, perhaps a dead one, has listed the name. */
  readonly wasKnown: boolean;
  readonly plain: readonly string[];
  /** Nodes of runs. */
  readonly nodes: readonly string[];
}

export interface UnknownPage {
  readonly names: readonly UnknownName[];
  /** Undefined: it has reached the end. */
  readonly next: ReadyPlace | undefined;
}

export interface UnknownSearch {
  readonly graceMs: number;
  /** The most ready rows that are read. */
  readonly limit: number;
  readonly after: ReadyPlace | undefined;
}

export interface EndedUnknown {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  /** Handlers that have run for it. */
  readonly attemptNo: number;
}

const START: ReadyPlace = {
  queue: "",
  priority: 0,
  at: "-infinity",
  id: "00000000-0000-0000-0000-000000000000",
};

/**
 * Finds and ends tasks whose name no worker knows, for a maintenance pass.
 *
 * FIND reads at most `limit` ready rows that have been due for the grace, in queues that a living worker has served for the
 * grace, in the order of the index; the next page continues after them. So a pass costs the same however many rows wait. Served
 * by ready_tasks_claim_idx (one descent a lane, and the rows of the page) and the primary key of submissions. Rows that are
 * not due that long are not read.
 *
 * A worker counts as living if it is not declared dead and its last heartbeat is within the grace, or 2 minutes if that is shorter:
 * heartbeats are up to 30 s apart.
 *
 * END checks again on the rows it locks: a worker that lists the name may have registered in between.
 */
export function unknownTasks(schema: SqlText) {
  const FIND = statement(sql`
    with recursive since as materialized (
      select at, least(at, statement_timestamp() - interval '2 minutes') as heard_at
        from (values (statement_timestamp() - $1::float8 * interval '1 millisecond')) as grace (at)
    ), served as materialized (
      select distinct lane.queue
        from ${schema}.workers as worker cross join since
       cross join lateral unnest(worker.queues) as lane (queue)
       where worker.state = 'running' and worker.started_at <= since.at and worker.last_heartbeat_at >= since.heard_at
         and lane.queue collate "C" >= $3::text and ${isQueueOpen(schema, sql`lane.queue`)}
    ), lane as (
      select first.*
        from served
       cross join lateral (
         select ready.queue, ready.priority from ${schema}.ready_tasks as ready
          where ready.queue = served.queue
          order by ready.queue, ready.priority
          limit 1
       ) as first
      union all
      select next.*
        from lane
       cross join lateral (
         select ready.queue, ready.priority from ${schema}.ready_tasks as ready
          where ready.queue = lane.queue and ready.priority > lane.priority
          order by ready.queue, ready.priority
          limit 1
       ) as next
    ), ordered as materialized (
      select queue, priority, case when is_first then $5::timestamptz else '-infinity' end as after_at,
             case when is_first then $6::uuid else '00000000-0000-0000-0000-000000000000' end as after_id
        from lane
       cross join lateral (select (queue, priority) = ($3::text, $4::smallint) as is_first) as place
       where (queue, priority) >= ($3::text, $4::smallint)
       order by queue, priority
    ), page as materialized (
      select due.*
        from ordered
       cross join lateral (
         select ready.queue, ready.priority, ready.enqueued_at, ready.task_id
           from ${schema}.ready_tasks as ready
          where ready.queue = ordered.queue and ready.priority = ordered.priority
            and ready.enqueued_at <= (select at from since)
            and (ready.enqueued_at, ready.task_id) > (ordered.after_at, ordered.after_id)
          order by ready.enqueued_at, ready.task_id
          limit $2
       ) as due
       limit $2
    ), named as materialized (
      select page.queue, sent.name,
             coalesce(jsonb_agg(page.task_id) filter (where sent.workflow_id is null), '[]') as plain,
             coalesce(jsonb_agg(page.task_id) filter (where sent.workflow_id is not null), '[]') as nodes
        from page
       cross join lateral (
         select name, workflow_id from ${schema}.submissions where task_id = page.task_id limit 1
       ) as sent
       group by page.queue, sent.name
    ), unknown as (
      select named.*, exists (select from ${schema}.workers where named.name = any (task_names)) as was_known
        from named
       where not exists (
         select from ${schema}.workers as worker
          where worker.state = 'running' and named.queue = any (worker.queues) and named.name = any (worker.task_names))
    )
    select (select jsonb_agg(jsonb_build_object('queue', queue, 'name', name, 'wasKnown', was_known,
                                                'plain', plain, 'nodes', nodes)
                             order by queue, name) from unknown) as "names",
           (select jsonb_build_object('queue', queue, 'priority', priority, 'at', enqueued_at::text, 'id', task_id)
              from page order by queue desc, priority desc, enqueued_at desc, task_id desc limit 1) as "last",
           (select count(*)::int from page) as "read"`);

  const END = statement(sql`
    with meant as materialized (
      select sent.*
        from unnest($1::uuid[]) as task (id)
       cross join lateral (
         select task_id, name, queue from ${schema}.submissions where task_id = task.id limit 1
       ) as sent
       where not exists (select from ${schema}.workers where sent.name = any (task_names))
    ), gone as (
      delete from ${schema}.ready_tasks
       where ctid = any (array(
         select ready.ctid from ${schema}.ready_tasks as ready
          where ready.ctid = any (array(select ${schema}.ready_row(meant.task_id) from meant))
            and ready.enqueued_at <= statement_timestamp() - $2::float8 * interval '1 millisecond'
            for update skip locked))
      returning *
    ), ended as (
      insert into ${schema}.finished_tasks
        (task_id, status, enqueued_at, finished_at, attempt_no, retry_count, crash_count, error_code, error, name, queue)
      select gone.task_id, 'FAILED', gone.enqueued_at, statement_timestamp(), gone.attempt_no, gone.retry_count,
             gone.crash_count, 'WORKER_RESOLUTION_ERROR',
             jsonb_build_object('code', 'WORKER_RESOLUTION_ERROR',
                                'message', 'no worker has ever had a handler for a task named ' || to_json(meant.name)::text),
             meant.name, meant.queue
        from gone join meant using (task_id)
      returning name, queue, status
    ), counted as (${countEnds(schema, sql`ended`)}
    )
    select gone.task_id as "id", meant.name as "name", meant.queue as "queue", coalesce(gone.attempt_no, 0) as "attemptNo"
      from gone join meant using (task_id)`);

  return {
    async find(db: Db, { graceMs, limit, after = START }: UnknownSearch): Promise<UnknownPage> {
      const { queue, priority, at, id } = after;
      const values = [graceMs, limit, queue, priority, at, id];
      const [row] = await db.query<{ names: string | null; last: string | null; read: number }>(
        FIND,
        values,
      );
      const isOver = row === undefined || row.last === null || row.read < limit;
      return {
        names: JSON.parse(row?.names ?? "[]") as UnknownName[],
        next: isOver ? undefined : (JSON.parse(row.last ?? "null") as ReadyPlace),
      };
    },
    /** Ends the tasks among these that still wait and whose name is still unknown. */
    end: (db: Db, ids: readonly string[], graceMs: number): Promise<EndedUnknown[]> =>
      db.query<EndedUnknown>(END, [uuidArray(ids), graceMs]),
  };
}
