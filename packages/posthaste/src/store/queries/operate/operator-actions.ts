import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** An action that begins. */
export interface BegunAction {
  readonly action: string;
  /** A task, a run or a queue. */
  readonly target?: string;
  /** The options of the call. */
  readonly filter?: object;
  /** The person or program behind the role that is logged in. */
  readonly actedBy?: string | undefined;
}

/** A past or present action of an operator. */
export interface OperatorAction {
  readonly id: string;
  readonly begunAt: Date;
  /** Null: it is under way, or its process is gone. */
  readonly endedAt: Date | null;
  /** The role that was logged in. */
  readonly actor: string;
  /** As `admin.as()` says. */
  readonly actedBy: string | null;
  readonly action: string;
  /** A task, a run or a queue. Null: several. */
  readonly target: string | null;
  /** The options of the call. */
  readonly filter: Readonly<Record<string, unknown>>;
  /** Tasks, runs or queues that were changed. */
  readonly affected: number;
}

/** The record of what operators did: written down before it is done, counted while it is done. */
export function operatorActions(schema: SqlText) {
  const BEGIN = statement(sql`
    select id::text as "id", begun_at as "begunAt" from ${schema}.begin_action($1, $2, $3::jsonb, $4)`);

  const END = statement(
    sql`select ${schema}.count_action($1::bigint, $2::int, true) as "affected"`,
  );

  const NOW = statement(sql`select clock_timestamp() as "now"`);

  // Served by the primary key, or by operator_actions_target_idx.
  const LIST = statement(sql`
    select id::text as "id", begun_at as "begunAt", ended_at as "endedAt", actor as "actor", acted_by as "actedBy",
           action as "action", target as "target", filter as "filter", affected as "affected"
      from ${schema}.operator_actions as done
     where ($1::text is null or target = $1)
     order by done.id desc
     limit $2`);

  return {
    async begin(db: Db, { action, target, filter, actedBy }: BegunAction) {
      const values = [action, target ?? null, JSON.stringify(filter ?? {}), actedBy ?? null];
      const [row] = await db.query<{ id: string; begunAt: Date }>(BEGIN, values);
      if (row === undefined) throw new Error("begin_action() returned no row");
      return row;
    },
    /** Adds what no statement has counted yet, and returns the sum. */
    async end(db: Db, id: string, more: number): Promise<number> {
      const [row] = await db.query<{ affected: number }>(END, [id, more]);
      return row?.affected ?? 0;
    },
    /** The moment that a dry run of an action would have begun at. */
    async now(db: Db): Promise<Date> {
      const [row] = await db.query<{ now: Date }>(NOW);
      return row?.now ?? new Date();
    },
    /** Latest first. */
    async list(db: Db, target: string | undefined, limit: number): Promise<OperatorAction[]> {
      const rows = await db.query<Omit<OperatorAction, "filter"> & { filter: string }>(LIST, [
        target ?? null,
        limit,
      ]);
      return rows.map((row) => ({
        ...row,
        filter: JSON.parse(row.filter) as OperatorAction["filter"],
      }));
    },
  };
}
