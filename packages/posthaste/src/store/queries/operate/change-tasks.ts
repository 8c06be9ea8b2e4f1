import { sql, statement, uuidArray, type Db, type SqlText, type Statement } from "../../sql.ts";

export interface CancelledTask {
  readonly id: string;
  /** Null: there is no such task. */
  readonly answer: "cancelled" | "requested" | "finished" | null;
}

export interface CopyRequest {
  /** The id of the new task. */
  readonly id: string;
  readonly model: string;
  readonly action: string;
  /** JSON text. Null: the input of the model. */
  readonly input: string | null;
  readonly queue: string | null;
  readonly priority: number | null;
  readonly delayMs: number;
  readonly goodUntil: Date | null;
}

export type MoveAnswer = "moved" | "unchanged" | "active" | "finished" | null;
export type DeleteAnswer = "deleted" | "active" | "node" | null;

/** The actions of operators on tasks, besides retries. The rules are those of functions/operators.sql. */
export function changeTasks(schema: SqlText) {
  const CANCEL = statement(sql`
    select id as "id", answer as "answer" from ${schema}.cancel_tasks($1::uuid[], $2::bigint)`);

  const COPY = statement(sql`
    select ${schema}.send_again($1::uuid, $2::bigint, $3::json, $4, $5::int, $6::float8, $7::timestamptz, $8::uuid) as "answer"`);

  const MOVE = statement(
    sql`select ${schema}.move_task($1::uuid, $2::bigint, $3::boolean, $4::int) as "answer"`,
  );

  const DELETE = statement(sql`select ${schema}.delete_task($1::uuid, $2::bigint) as "answer"`);

  async function ask<Answer>(db: Db, call: Statement, values: unknown[]): Promise<Answer | null> {
    const [row] = await db.query<{ answer: Answer | null }>(call, values);
    return row?.answer ?? null;
  }

  return {
    cancel: (db: Db, ids: readonly string[], action: string): Promise<CancelledTask[]> =>
      db.query<CancelledTask>(CANCEL, [uuidArray(ids), action]),
    /** The id of the new task. Null: there is no such model. */
    sendAgain: (db: Db, copy: CopyRequest): Promise<string | null> =>
      ask<string>(db, COPY, [
        copy.model,
        copy.action,
        copy.input,
        copy.queue,
        copy.priority,
        copy.delayMs,
        copy.goodUntil,
        copy.id,
      ]),
    /** To be due now, or to another priority. */
    move: (
      db: Db,
      id: string,
      action: string,
      to: "now" | { readonly priority: number },
    ): Promise<MoveAnswer> =>
      ask(db, MOVE, [id, action, to === "now", to === "now" ? null : to.priority]),
    delete: (db: Db, id: string, action: string): Promise<DeleteAnswer> =>
      ask(db, DELETE, [id, action]),
  };
}
