import { sql, statement, type Db, type SqlText } from "../../sql.ts";

export interface UnservedQueue {
  readonly queue: string;
  /** A task waits in it. */
  readonly isWaiting: boolean;
  /** Some worker lives, and serves other queues. */
  readonly hasWorkers: boolean;
}

/** Which queues there are, and which of them no living worker serves. For operators and warnings, now and then. */
export function queuesInUse(schema: SqlText) {
  // Workers beat every few seconds. One whose machine is gone stays 'running' until another worker judges it.
  const LIVES = sql`worker.state = 'running'
    and worker.last_heartbeat_at > statement_timestamp() - interval '1 minute'`;

  // A loose scan over ready_tasks_claim_idx, one descent per queue.
  const WAITING = sql`
    waiting as (
      (select ready.queue from ${schema}.ready_tasks as ready order by ready.queue limit 1)
      union all
      select next.queue
        from waiting
       cross join lateral (
         select ready.queue from ${schema}.ready_tasks as ready
          where ready.queue > waiting.queue order by ready.queue limit 1
       ) as next
    )`;

  // Served queues come from the registry: `submissions` has no index by queue.
  const KNOWN = statement(sql`
    with recursive ${WAITING}
    select queue as "queue" from waiting
    union
    select sent.queue from ${schema}.active_tasks as held join ${schema}.submissions as sent using (task_id)
    union
    select unnest(worker.queues) from ${schema}.workers as worker
    union
    select known.queue from ${schema}.queues as known
     order by 1`);

  const UNSERVED = statement(sql`
    select asked.queue as "queue" from unnest($1::text[]) as asked (queue)
     where not exists (
       select from ${schema}.workers as worker where ${LIVES} and asked.queue = any (worker.queues))`);

  const CHECK = statement(sql`
    with recursive ${WAITING}, living as materialized (
      select worker.queues from ${schema}.workers as worker where ${LIVES}
    )
    select asked.queue as "queue", asked.queue in (select queue from waiting) as "isWaiting",
           exists (select from living) as "hasWorkers"
      from (select queue from waiting union select unnest($1::text[])) as asked (queue)
     where not exists (select from living where asked.queue = any (living.queues))
     order by asked.queue`);

  const names = async (db: Db, text: typeof KNOWN, values: unknown[]): Promise<string[]> => {
    const rows = await db.query<{ queue: string }>(text, values);
    return rows.map(({ queue }) => queue);
  };

  return {
    /** Queues with a task, queues that were ever paused, and queues of registered workers, living or dead. */
    known: (db: Db): Promise<string[]> => names(db, KNOWN, []),
    /** The queues among these that no living worker serves. */
    unserved: (db: Db, queues: readonly string[]): Promise<string[]> =>
      names(db, UNSERVED, [queues]),
    /** The same for these queues and all queues with a waiting task. */
    check: (db: Db, queues: readonly string[]): Promise<UnservedQueue[]> =>
      db.query<UnservedQueue>(CHECK, [queues]),
  };
}
