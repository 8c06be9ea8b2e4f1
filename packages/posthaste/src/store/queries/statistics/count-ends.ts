import { sql, type SqlText } from "../../sql.ts";

/**
 * Counts the ends that a statement writes without a worker's attempt: an insert into rollups from `rows`, which has name, queue and
 * status. The statement and its counts are one commit. Ends of attempts are counted by their worker.
 */
export function countEnds(schema: SqlText, rows: SqlText): SqlText {
  return sql`
    insert into ${schema}.rollups (starts_at, covers, name, queue, failed, cancelled, expired)
    select date_trunc('minute', statement_timestamp()), 'part', name, queue, count(*) filter (where status = 'FAILED'),
           count(*) filter (where status = 'CANCELLED'), count(*) filter (where status = 'EXPIRED')
      from ${rows}
     where name is not null and status <> 'PENDING'
     group by name, queue`;
}
