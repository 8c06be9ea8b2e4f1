import { sql, statement, uuidArray, type Db, type SqlText } from "../../sql.ts";
import type { Claim } from "../claim/stored-claims.ts";

/**
 * Which of these claims are still held, as `task/claim`. They stay so until the transaction ends: whatever it creates in their name is
 * created by a task that was theirs. Waits for a claim that is being ended, in the order of the ids. Served by
 * active_tasks_id_idx.
 */
export function holdParents(schema: SqlText) {
  const HOLD = statement(sql`
    select held.task_id || '/' || held.claim_id as "key"
      from unnest($1::uuid[], $2::uuid[]) as given (id, claim)
     cross join lateral (
       select active.task_id, active.claim_id from ${schema}.active_tasks as active
        where active.task_id = given.id and active.claim_id = given.claim and active.started_at is not null
          for key share
     ) as held`);

  return async (db: Db, claims: readonly Claim[]): Promise<ReadonlySet<string>> => {
    const inOrder = [...claims].sort((a, b) => (a.id < b.id ? -1 : 1));
    const rows = await db.query<{ key: string }>(HOLD, [
      uuidArray(inOrder.map(({ id }) => id)),
      uuidArray(inOrder.map(({ claimId }) => claimId)),
    ]);
    return new Set(rows.map(({ key }) => key));
  };
}
