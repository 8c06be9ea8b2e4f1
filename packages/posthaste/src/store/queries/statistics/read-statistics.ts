import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** The tasks of a queue that have not ended. */
export interface QueueDepth {
  readonly queue: string;
  /** PENDING and due. */
  readonly ready: number;
  /** PENDING and due later: sent with a delay, or waiting for a retry. */
  readonly delayed: number;
  readonly claimed: number;
  readonly running: number;
  /** For how long its oldest ready task has been due. Null: none is. */
  readonly oldestReadyMs: number | null;
  /** Whether `ready` or `delayed` stopped at the most that is counted. */
  readonly isCapped: boolean;
}

/** The counts of the rollups of a span, by task and queue. */
export interface CountedEnds {
  readonly name: string;
  readonly queue: string;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly expired: number;
  readonly retried: number;
  /** Counts by bucket of domain/histogram.ts. */
  readonly wait: readonly number[];
  readonly run: readonly number[];
}

/** For operators and dashboards, now and then. Bounded by lanes and counted rows, not by the length of a queue. */
export function readStatistics(schema: SqlText) {
  // A loose scan over ready_tasks_claim_idx, one descent per lane; then two ranges of the same index for each lane, each read up to $1
  // rows. active_tasks has only tasks under way, and each is looked up by its id: a merge join read every submission.
  const DEPTHS = statement(sql`
    with recursive lane as (
      (select queue, priority from ${schema}.ready_tasks order by queue, priority limit 1)
      union all
      select next.queue, next.priority
        from lane
       cross join lateral (
         select ready.queue, ready.priority from ${schema}.ready_tasks as ready
          where (ready.queue, ready.priority) > (lane.queue, lane.priority)
          order by ready.queue, ready.priority limit 1
       ) as next
    ), waiting as (
      select lane.queue, sum(due.count) as ready, sum(later.count) as delayed, min(oldest.enqueued_at) as oldest,
             bool_or(due.count = $1 or later.count = $1) as capped
        from lane
       cross join lateral (
         select count(*) from (
           select from ${schema}.ready_tasks as ready
            where ready.queue = lane.queue and ready.priority = lane.priority
              and ready.enqueued_at <= statement_timestamp() limit $1) as counted
       ) as due
       cross join lateral (
         select count(*) from (
           select from ${schema}.ready_tasks as ready
            where ready.queue = lane.queue and ready.priority = lane.priority
              and ready.enqueued_at > statement_timestamp() limit $1) as counted
       ) as later
       cross join lateral (
         select min(ready.enqueued_at) as enqueued_at from ${schema}.ready_tasks as ready
          where ready.queue = lane.queue and ready.priority = lane.priority
            and ready.enqueued_at <= statement_timestamp()
       ) as oldest
       group by lane.queue
    ), held as (
      select sent.queue, count(*) filter (where active.started_at is null) as claimed,
             count(*) filter (where active.started_at is not null) as running
        from ${schema}.active_tasks as active
       cross join lateral (
         select queue from ${schema}.submissions where task_id = active.task_id limit 1
       ) as sent
       group by sent.queue
    ), served as (
      select unnest(queues) as queue from ${schema}.workers where state in ('running', 'stopping')
    )
    select queue as "queue", coalesce(waiting.ready, 0)::int as "ready", coalesce(waiting.delayed, 0)::int as "delayed",
           coalesce(held.claimed, 0)::int as "claimed", coalesce(held.running, 0)::int as "running",
           (extract(epoch from statement_timestamp() - waiting.oldest) * 1000)::float8 as "oldestReadyMs",
           coalesce(waiting.capped, false) as "isCapped"
      from (select queue from waiting union select queue from held union select queue from served
            union select queue from ${schema}.queues) as known
      left join waiting using (queue)
      left join held using (queue)
     order by queue`);

  // Served by rollups_time_idx. An hour or a day counts if it began in the span.
  const ENDS = statement(sql`
    with rows as materialized (
      select * from ${schema}.rollups
       where covers = any ('{part,minute,hour,day}')
         and starts_at > statement_timestamp() - $1::float8 * interval '1 millisecond'
    ), counted as (
      select name, queue, sum(completed)::int as completed, sum(failed)::int as failed, sum(cancelled)::int as cancelled,
             sum(expired)::int as expired, sum(retried)::int as retried
        from rows group by name, queue
    ), buckets as (
      select name, queue, place, sum(waited) as waited, sum(ran) as ran
        from rows cross join lateral unnest(wait, run) with ordinality as bucket (waited, ran, place)
       group by name, queue, place
    ), histograms as (
      select name, queue, jsonb_agg(coalesce(waited, 0) order by place) as wait, jsonb_agg(coalesce(ran, 0) order by place) as run
        from buckets group by name, queue
    )
    select name as "name", queue as "queue", completed as "completed", failed as "failed", cancelled as "cancelled",
           expired as "expired", retried as "retried", coalesce(wait, '[]')::text as "wait", coalesce(run, '[]')::text as "run"
      from counted left join histograms using (name, queue)
     order by queue, name`);

  type EndsRow = Omit<CountedEnds, "wait" | "run"> & {
    readonly wait: string;
    readonly run: string;
  };

  return {
    /** @param most how many ready and delayed tasks of a lane are counted */
    depths: (db: Db, most: number): Promise<QueueDepth[]> => db.query<QueueDepth>(DEPTHS, [most]),
    /** The ends of the last `spanMs`, by the database's clock. */
    async ends(db: Db, spanMs: number): Promise<CountedEnds[]> {
      const rows = await db.query<EndsRow>(ENDS, [spanMs]);
      return rows.map((row) => ({
        ...row,
        wait: JSON.parse(row.wait) as number[],
        run: JSON.parse(row.run) as number[],
      }));
    },
  };
}
