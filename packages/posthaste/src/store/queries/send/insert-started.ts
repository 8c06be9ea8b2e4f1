import { bareStatement, sql, type Db, type SqlText } from "../../sql.ts";
import { newClaimId } from "../claim/claim-rows.ts";
import type { ClaimLane } from "../claim/claim-tasks.ts";
import { isQueueOpen } from "../claim/pick-ready.ts";
import {
  incoming,
  readyColumns,
  readyValues,
  submissionColumns,
  submissionValues,
} from "./insert-tasks.ts";

/** The claims of a worker for tasks that are being sent. */
export interface StartAtOnce {
  readonly workerId: string;
  /** A random uuid, whose first half is that of the claims' ids. */
  readonly claimSeed: string;
  /** Where the worker would look for something to claim. */
  readonly lanes: readonly ClaimLane[];
}

export interface StartedAtOnce {
  readonly ids: string[];
  /** Epoch ms: when they were sent, and started. */
  readonly at: number;
}

/**
 * Inserts new tasks. Those with `starts` are stored as RUNNING, unless their queue is paused or a due task is in one of the worker's
 * lanes, which comes first. Then they wait in their queue like the others.
 *
 * Served by ready_tasks_claim_idx, one descent a lane, and the primary key of queues.
 */
export function insertStarted(schema: SqlText) {
  const INSERT = bareStatement(sql`
    with ${incoming}, lane as materialized (
      select lane.queue, lane.priority, to_timestamp(lane.mark / 1000) as mark
        from unnest($2::text[], $3::smallint[], $4::float8[]) as lane (queue, priority, mark)
       where ${isQueueOpen(schema, sql`lane.queue`)}
    ), first as materialized (
      select due.task_id
        from lane
       cross join lateral (
         select ready.task_id
           from ${schema}.ready_tasks as ready
          where ready.queue = lane.queue and ready.priority = lane.priority
            and ready.enqueued_at >= lane.mark and ready.enqueued_at <= statement_timestamp()
          order by ready.enqueued_at, ready.task_id
          limit 1
       ) as due
       limit 1
    ), sorted as materialized (
      select incoming.*,
             starts is true and not exists (select from first)
               and exists (select from lane where lane.queue = incoming.queue) as is_started
        from incoming
    ), stored as (
      insert into ${schema}.submissions ${submissionColumns}
      select ${submissionValues} from sorted
    ), waiting as (
      insert into ${schema}.ready_tasks ${readyColumns}
      select ${readyValues} from sorted where not is_started
    )
    insert into ${schema}.active_tasks
      (task_id, claim_id, worker_id, started_at)
    select task_id, ${newClaimId(sql`$6`)}, $5::uuid, statement_timestamp()
      from (select id as task_id from sorted where is_started) as started
    returning task_id, date_part('epoch', started_at) * 1000`);

  return async (
    db: Db,
    rows: string,
    { workerId, claimSeed, lanes }: StartAtOnce,
  ): Promise<StartedAtOnce> => {
    const started = await db.query<[id: string, at: number]>(INSERT, [
      rows,
      lanes.map(({ queue }) => queue),
      lanes.map(({ priority }) => priority),
      lanes.map(({ mark }) => mark),
      workerId,
      claimSeed,
    ]);
    return { ids: started.map(([id]) => id), at: started[0]?.[1] ?? 0 };
  };
}
