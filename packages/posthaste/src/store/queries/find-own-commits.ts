import { sql, statement, type Db, type SqlText } from "../sql.ts";

/**
 * Which of these claims wrote the end of their task or of their attempt, and what their task became by it: the answer to a settle that found fewer rows
 * than it should, because the acknowledgement of an earlier one was lost. Served by finished_tasks_id_idx and the
 * primary key of attempts.
 *
 * Looked up row by row: written with `exists … or exists …`, a plan from an emptier moment read both tables from end to
 * end into hashes, whatever enable_seqscan said (26 ms at 50,000 rows).
 */
export function findOwnCommits(schema: SqlText) {
  const FIND = statement(sql`
    with said as materialized (
      select id, claim from unnest($1::uuid[], $2::uuid[]) as said (id, claim)
    )
    select said.id as "id", coalesce(finished.status, 'COMPLETED') as "status"
      from said
     cross join lateral (
       select status from ${schema}.finished_tasks as finished
        where finished.task_id = said.id and finished.claim_id = said.claim
        limit 1
     ) as finished
    union all
    select said.id, 'PENDING'
      from said
     cross join lateral (
       select from ${schema}.attempts as attempt
        where attempt.task_id = said.id and attempt.claim_id = said.claim and attempt.outcome = 'FAILED'
        limit 1
     ) as attempt`);

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
