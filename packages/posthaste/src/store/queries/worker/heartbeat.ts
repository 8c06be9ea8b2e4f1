import { sql, statement, uuidArray, type Db, type SqlText } from "../../sql.ts";
import type { Claim } from "../claim/stored-claims.ts";

interface Sender {
  readonly workerId: string;
  readonly hostname: string;
  readonly pid: number;
}

/** A claimer holds tasks that have not started, a runner tasks that have. */
export type Role = "claimer" | "runner";

export interface Heartbeat {
  readonly role: Role;
  readonly sender: Sender;
  /** The lease of prefetched tasks from now on. */
  readonly leaseMs: number;
  /** How long the event loop has not turned. */
  readonly loopBlockedMs: number;
}

/**
 * A heartbeat for any number of tasks. The claim gets the time for verdicts, the history a row for people.
 *
 * While the event loop of a worker is blocked, its tasks make no progress: the heartbeat then has the time of the loop's last turn. So a
 * loop that is blocked for less than the threshold costs nothing, and one that is blocked for longer loses its tasks right after the
 * threshold.
 */
export function heartbeat(schema: SqlText) {
  // Fenced by claim_id, served by active_tasks_id_idx. A locked row is skipped until the next round: a
  // heartbeat must never wait for an end or make one wait. A statement that never waits needs no lock order.
  const HEARTBEAT = statement(sql`
    with mine as materialized (
      select held.task_id
        from unnest($1::uuid[], $2::uuid[]) as given (id, claim)
       cross join lateral (
         select task_id from ${schema}.active_tasks as active
          where active.task_id = given.id and active.claim_id = given.claim
            and (active.started_at is null) = ($3 = 'claimer')
            for update skip locked
       ) as held
    ), sent as (
      update ${schema}.active_tasks
         set heartbeat_at = greatest(heartbeat_at, statement_timestamp() - $8::float8 * interval '1 millisecond'),
             claim_expires_at = case when started_at is null
               then statement_timestamp() + $4::float8 * interval '1 millisecond' end
       where task_id = any (array(select task_id from mine))
      returning task_id, claim_id
    )
    insert into ${schema}.heartbeats (task_id, claim_id, role, sent_at, sender_id, hostname, pid)
    select task_id, claim_id, $3, statement_timestamp(), $5, $6, $7 from sent
    returning task_id as "id"`);

  /** Returns the ids of those that were ours, not locked, and of that role. */
  return async (
    db: Db,
    { role, sender, leaseMs, loopBlockedMs }: Heartbeat,
    claims: readonly Claim[],
  ): Promise<Set<string>> => {
    const rows = await db.query<{ id: string }>(HEARTBEAT, [
      uuidArray(claims.map(({ id }) => id)),
      uuidArray(claims.map(({ claimId }) => claimId)),
      role,
      leaseMs,
      sender.workerId,
      sender.hostname,
      sender.pid,
      loopBlockedMs,
    ]);
    return new Set(rows.map(({ id }) => id));
  };
}
