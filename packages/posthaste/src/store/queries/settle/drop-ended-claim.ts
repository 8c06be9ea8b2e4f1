import { sql, statement, type Db, type SqlText } from "../../sql.ts";
import type { Claim } from "../claim/stored-claims.ts";

/**
 * Removes a claim whose task has ended, which no statement of ours leaves behind: an end that was restored or inserted by
 * hand. Without it the claim would stay RUNNING, and every settle and recovery of it would fail. Fenced by claim_id. Served
 * by active_tasks_id_idx and finished_tasks_id_idx.
 */
export function dropEndedClaim(schema: SqlText) {
  const DROP = statement(sql`
    with finished as (
      select coalesce(status, 'COMPLETED') as status from ${schema}.finished_tasks where task_id = $1::uuid
    ), gone as (
      delete from ${schema}.active_tasks
       where task_id = $1::uuid and claim_id = $2::uuid and exists (select from finished)
    )
    select status as "status" from finished`);

  /** The status of the task if it has ended. */
  return async (db: Db, { id, claimId }: Claim): Promise<string | undefined> => {
    const [row] = await db.query<{ status: string }>(DROP, [id, claimId]);
    return row?.status;
  };
}
