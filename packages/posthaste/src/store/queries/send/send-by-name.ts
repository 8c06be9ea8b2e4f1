import { sql, statement, type Db, type SqlText } from "../../sql.ts";

export interface SentByName {
  readonly name: string;
  /** JSON text. */
  readonly input: string;
  readonly queue: string | null;
  readonly priority: number | null;
  readonly delayMs: number | null;
  readonly key: string | null;
}

/** For a sender without the definition of a task: what it leaves out comes from the definition that a worker registered last. */
export function sendByName(schema: SqlText) {
  const SEND = statement(sql`
    select ${schema}.send($1, $2::jsonb, $3, $4::int, clock_timestamp() + $5::float8 * interval '1 millisecond', null, $6) as "id"`);

  const NAMES = statement(sql`
    select name as "name" from ${schema}.task_definitions order by name`);

  return {
    async send(db: Db, task: SentByName): Promise<string> {
      const { name, input, queue, priority, delayMs, key } = task;
      const [row] = await db.query<{ id: string }>(SEND, [
        name,
        input,
        queue,
        priority,
        delayMs,
        key,
      ]);
      if (row === undefined) throw new TypeError("send() returned no row");
      return row.id;
    },
    /** Every task name that a worker has ever registered. */
    async names(db: Db): Promise<string[]> {
      return (await db.query<{ name: string }>(NAMES)).map(({ name }) => name);
    },
  };
}
