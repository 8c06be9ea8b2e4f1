import { sql, statement, type Db, type SqlText, type Statement } from "../../sql.ts";
import { placeInQueue } from "../send/place-in-queue.ts";
import { EXPIRED_ERROR } from "../settle/complete-tasks.ts";
import { nameOfEnd } from "../settle/name-of-end.ts";
import { attemptsSoFar, isNode } from "./claim-rows.ts";
import type { Claim } from "./stored-claims.ts";
import { isQueueOpen } from "./pick-ready.ts";

export interface StartReply {
  /** Started, with the number of the handler that may now run. Asked for and in no list: not ours any more. */
  readonly started: readonly { readonly id: string; readonly attemptNo: number }[];
  readonly expired: readonly string[];
  /** Nodes whose deadline has passed: still claimed, and to be ended as such. */
  readonly lateNodes: readonly string[];
  /** Still claimed, because a cap is reached: to be tried again when something has ended. */
  readonly heldBack: readonly string[];
  /** Still claimed, because their queue is paused. */
  readonly paused: readonly string[];
}

/**
 * Moves prefetched tasks from CLAIMED to RUNNING once a slot is free. It checks all conditions again: a task past its deadline ends
 * EXPIRED and no attempt is counted; a task of a paused queue, or beyond its queue's cap, stays claimed. Fenced by claim_id; served by active_tasks_id_idx; locks in id order (the claims come sorted) and
 * waits, for the reason given in settle-tasks.ts. With caps, the locks of lock-caps.ts come first.
 */
export function startTasks(schema: SqlText) {
  const PLAIN = startStatement(schema, false);
  const CAPPED = startStatement(schema, true);

  return async (
    db: Db,
    claims: readonly Claim[],
    queueCaps?: ReadonlyMap<string, number>,
  ): Promise<StartReply> => {
    // Locked in the order of their ids, started in the order in which they were given.
    const inOrder = claims
      .map(({ id, claimId }, nth) => ({ id, claimId, nth }))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    const values = [
      inOrder.map(({ id }) => id),
      inOrder.map(({ claimId }) => claimId),
      inOrder.map(({ nth }) => nth),
    ];
    const rows =
      queueCaps === undefined
        ? await db.query<StartRow>(PLAIN, values)
        : await db.query<StartRow>(CAPPED, [
            ...values,
            [...queueCaps.keys()],
            [...queueCaps.values()],
          ]);
    const judged = (wanted: string): string[] =>
      rows.flatMap(({ id, verdict }) => (verdict === wanted ? [id] : []));
    return {
      started: rows.flatMap(({ id, attemptNo }) => (attemptNo === null ? [] : [{ id, attemptNo }])),
      expired: judged("late"),
      lateNodes: judged("late node"),
      heldBack: judged("held back"),
      paused: judged("paused"),
    };
  };
}

/** With caps it counts running tasks, which reads all active tasks. */
function startStatement(schema: SqlText, isCapped: boolean): Statement {
  const room = isCapped
    ? sql`room as materialized (
      select given.queue, given.cap - coalesce(busy.held, 0) as free
        from unnest($4::text[], $5::int[]) as given (queue, cap)
        left join ${schema}.queue_load(false) as busy on busy.queue = given.queue
    ),`
    : sql``;
  const beyondCap = isCapped
    ? sql`
        when row_number() over (
          partition by lane.queue, coalesce(lane.good_until <= statement_timestamp(), false) order by lane.nth
        ) > (select room.free from room where room.queue = lane.queue) then 'held back'`
    : sql``;
  return statement(sql`
    with mine as materialized (
      select held.*, given.nth, sent.queue
        from unnest($1::uuid[], $2::uuid[], $3::int[]) as given (id, claim, nth)
       cross join lateral (
         select * from ${schema}.active_tasks as active
          where active.task_id = given.id and active.claim_id = given.claim and active.started_at is null
            for update
       ) as held
       left join lateral ${placeInQueue(schema, sql`given.id`)} as sent on true
    ), ${room} judged as materialized (
      select lane.*,
             case when lane.good_until <= statement_timestamp() then
                    case when ${isNode(schema, sql`lane.task_id`)} then 'late node' else 'late' end
                  when not (${isQueueOpen(schema, sql`lane.queue`)}) then 'paused' ${beyondCap}
                  else 'fit' end as verdict
        from mine as lane
    ), late as (
      delete from ${schema}.active_tasks where task_id = any (array(select task_id from judged where verdict = 'late'))
    ), expired as (
      insert into ${schema}.finished_tasks
        (task_id, status, enqueued_at, claimed_at, finished_at, claim_id, worker_id, attempt_no, retry_count, crash_count,
         error_code, error, name, queue)
      select judged.task_id, 'EXPIRED', enqueued_at, claimed_at, statement_timestamp(), claim_id, worker_id, attempt_no,
             retry_count, crash_count, 'TASK_EXPIRED', ${EXPIRED_ERROR}, named.name, named.queue
        from judged
        left join lateral ${nameOfEnd(schema, sql`judged.task_id`)} as named on true
       where verdict = 'late'
      returning task_id
    ), started as (
      update ${schema}.active_tasks as active
         set started_at = statement_timestamp(), attempt_no = active.attempt_no + 1, claim_expires_at = null
       where task_id = any (array(select task_id from judged where verdict = 'fit'))
      returning active.task_id, ${attemptsSoFar(sql`active`)} as attempt_no
    )
    select task_id as "id", attempt_no as "attemptNo", 'fit' as "verdict" from started
    union all
    select task_id, null, verdict from judged where verdict <> 'fit'`);
}

interface StartRow {
  readonly id: string;
  readonly attemptNo: number | null;
  readonly verdict: string;
}
