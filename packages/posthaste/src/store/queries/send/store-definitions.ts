import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** A definition, as SQL's send() uses it. */
export interface DefinitionRow {
  readonly name: string;
  readonly queue: string;
  /** Its own. */
  readonly priority: number | null;
  /** The options of its queue in the app's config. */
  readonly queuePriority: number | null;
  /** JSON text, as senders write it. */
  readonly options: string | null;
  readonly flags: string | null;
  /** How long its tasks are kept after their end. */
  readonly keepHours: number | null;
}

export function storeDefinitions(schema: SqlText) {
  // In the order of names: workers that start together lock the rows one way round. Hundreds of workers with the same
  // definitions write them once.
  const STORE = statement(sql`
    insert into ${schema}.task_definitions as known (name, queue, priority, queue_priority, options, flags, keep_hours)
    select name, queue, priority, queue_priority, options, flags, keep_hours
      from jsonb_to_recordset($1::jsonb) as defined
           (name text, queue text, priority smallint, queue_priority smallint, options jsonb, flags jsonb,
            keep_hours integer)
     order by name collate "C"
        on conflict (name) do update
       set registered_at = excluded.registered_at, queue = excluded.queue, priority = excluded.priority,
           queue_priority = excluded.queue_priority, options = excluded.options, flags = excluded.flags,
           keep_hours = excluded.keep_hours
     where (known.queue, known.priority, known.queue_priority, known.options, known.flags, known.keep_hours)
           is distinct from
           (excluded.queue, excluded.priority, excluded.queue_priority, excluded.options, excluded.flags,
            excluded.keep_hours)`);

  return async (db: Db, definitions: readonly DefinitionRow[]): Promise<void> => {
    await db.query(STORE, [`[${definitions.map(rowText).join(",")}]`]);
  };
}

function rowText({ options, flags, queuePriority, keepHours, ...row }: DefinitionRow): string {
  const text = JSON.stringify({ ...row, queue_priority: queuePriority, keep_hours: keepHours });
  return `${text.slice(0, -1)},"options":${options ?? "null"},"flags":${flags ?? "null"}}`;
}
