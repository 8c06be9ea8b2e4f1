import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/**
 * Which of these claims wrote the end of their task or attempt, and the status it led to. Asked when a settle found fewer rows than it
 * should, because the answer to an earlier one was lost. An operator may have retried the task since: then its end is in task_retries. Served
 * by finished_tasks_id_idx, the primary key of attempts and task_retries_task_idx.
 *
 * Looked up row by row: written with `exists … or exists …`, a plan from an emptier moment read both tables from end to
 * end into hashes, even with enable_seqscan off (26 ms at 50,000 rows).
 */
export function findOwnCommits(schema: SqlText) {
  const FIND = statement(sql`
    with given as materialized (
      select id, claim from unnest($1::uuid[], $2::uuid[]) as given (id, claim)
    )
    select given.id as "id", coalesce(finished.status, 'COMPLETED') as "status"
      from given
     cross join lateral (
       select status from ${schema}.finished_tasks as finished
        where finished.task_id = given.id and finished.claim_id = given.claim
        limit 1
     ) as finished
    union all
    select given.id, 'PENDING'
      from given
     cross join lateral (
       select from ${schema}.attempts as attempt
        where attempt.task_id = given.id and attempt.claim_id = given.claim and attempt.outcome = 'FAILED'
          and attempt.ended_task is null
        limit 1
     ) as attempt
    union all
    select given.id, retried.status
      from given
     cross join lateral (
       select status from ${schema}.task_retries as retried
        where retried.task_id = given.id and retried.claim_id = given.claim
        limit 1
     ) as retried`);

  return async (
    db: Db,
    claims: readonly { readonly id: string; readonly claimId: string }[],
  ): Promise<ReadonlyMap<string, string>> => {
    const rows = await db.query<{ id: string; status: string }>(FIND, [
      claims.map((claim) => claim.id),
      claims.map((claim) => claim.claimId),
    ]);
    return new Map(rows.map(({ id, status }) => [id, status]));
  };
}
