import { sql, statement, type Db, type SqlText } from "../../sql.ts";
import { isQueueOpen } from "./pick-ready.ts";

export interface SurveyedLane {
  readonly queue: string;
  readonly priority: number;
  /** Epoch ms of the oldest task in the lane, due or not. */
  readonly firstEnqueuedAt: number;
  /** How long until that task is due; 0 or less: it is. */
  readonly dueMs: number;
}

/**
 * The lanes in use of queues that run, and where each begins: a loose scan over ready_tasks_claim_idx, one descent per lane. It walks dead
 * rows at a lane's head where the claim does not, so it is asked for now and then, not every time.
 */
export function surveyLanes(schema: SqlText) {
  const SURVEY = statement(sql`
    with recursive lane as (
      select first.*
        from unnest($1::text[]) as lane (queue)
       cross join lateral (
         select ready.queue, ready.priority, ready.enqueued_at
           from ${schema}.ready_tasks as ready
          where ready.queue = lane.queue
          order by ready.queue, ready.priority, ready.enqueued_at
          limit 1
       ) as first
       where ${isQueueOpen(schema, sql`lane.queue`)}
      union all
      select next.*
        from lane
       cross join lateral (
         select ready.queue, ready.priority, ready.enqueued_at
           from ${schema}.ready_tasks as ready
          where ready.queue = lane.queue and ready.priority > lane.priority
          order by ready.queue, ready.priority, ready.enqueued_at
          limit 1
       ) as next
    )
    select queue, priority, (extract(epoch from enqueued_at) * 1000)::float8 as "firstEnqueuedAt",
           ceil(extract(epoch from enqueued_at - statement_timestamp()) * 1000)::float8 as "dueMs"
      from lane`);

  return (db: Db, queues: readonly string[]): Promise<SurveyedLane[]> =>
    db.query<SurveyedLane>(SURVEY, [queues]);
}
