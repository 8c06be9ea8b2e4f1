import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** The stored task under an id or key that a send wanted to use. */
export interface StoredSubmission {
  /** The id that was asked for. */
  readonly askedId: string;
  readonly id: string;
  /** "key": name and key are taken. "id": the id itself is. */
  readonly by: "key" | "id";
  readonly sameInput: boolean;
  readonly sameTask: boolean;
}

/**
 * The submissions that stood in the way of some of `rows` (JSON as for insertTasks). By id through the primary key, by
 * (name, key) through submissions_key_idx. Looked up row by row: written as joins, a plan from an emptier moment read
 * all submissions into a hash (43 ms at 50,000).
 */
export function matchSubmissions(schema: SqlText) {
  const MATCH = statement(sql`
    with wanted as materialized (
      select * from json_to_recordset($1::text::json)
        as item (id uuid, name text, queue text, priority smallint, input jsonb, key text)
    )
    select wanted.id as "askedId", stored.task_id as "id", 'key' as "by",
           stored.input::jsonb = coalesce(wanted.input, 'null') as "sameInput", true as "sameTask"
      from wanted
     cross join lateral (
       select task_id, input from ${schema}.submissions
        where name = wanted.name and key = wanted.key and key is not null
        limit 1
     ) as stored
    union all
    select wanted.id, stored.task_id, 'id', stored.input::jsonb = coalesce(wanted.input, 'null'),
           stored.name = wanted.name and stored.queue = wanted.queue and stored.priority = wanted.priority
             and stored.key is not distinct from wanted.key
      from wanted
     cross join lateral (
       select task_id, name, queue, priority, key, input from ${schema}.submissions
        where task_id = wanted.id
        limit 1
     ) as stored`);

  return (db: Db, rows: string): Promise<StoredSubmission[]> =>
    db.query<StoredSubmission>(MATCH, [rows]);
}
