import { sql, statement, type Db, type SqlText } from "../../sql.ts";

export interface QueueRow {
  readonly queue: string;
  readonly pausedAt: Date | null;
  readonly pending: number;
  readonly claimed: number;
  readonly running: number;
}

export function pauseQueues(schema: SqlText) {
  const PAUSE = statement(sql`select ${schema}.pause_queue($1) as "hasChanged"`);
  const RESUME = statement(sql`select ${schema}.resume_queue($1) as "hasChanged"`);

  // Counted from end to end: for an operator's eyes, now and then.
  const LIST = statement(sql`
    with load as (
      select queue, count(*)::int as pending, 0 as claimed, 0 as running from ${schema}.ready_tasks group by queue
      union all
      select sent.queue, 0, (count(*) filter (where held.started_at is null))::int,
             (count(*) filter (where held.started_at is not null))::int
        from ${schema}.active_tasks as held join ${schema}.submissions as sent using (task_id) group by sent.queue
      union all
      select queue, 0, 0, 0 from ${schema}.queues
      union all
      select unnest($1::text[]), 0, 0, 0
    )
    select load.queue as "queue", max(known.paused_at) as "pausedAt", sum(load.pending)::int as "pending",
           sum(load.claimed)::int as "claimed", sum(load.running)::int as "running"
      from load left join ${schema}.queues as known on known.queue = load.queue
     group by load.queue
     order by load.queue`);

  const change = async (db: Db, text: typeof PAUSE, queue: string): Promise<boolean> => {
    const [row] = await db.query<{ hasChanged: boolean }>(text, [queue]);
    return row?.hasChanged ?? false;
  };

  return {
    /** False: it was paused already. */
    pause: (db: Db, queue: string): Promise<boolean> => change(db, PAUSE, queue),
    /** False: it was not paused. */
    resume: (db: Db, queue: string): Promise<boolean> => change(db, RESUME, queue),
    /** Every queue that holds a task, was ever paused, or is in `known`. */
    list: (db: Db, known: readonly string[]): Promise<QueueRow[]> =>
      db.query<QueueRow>(LIST, [known]),
  };
}
