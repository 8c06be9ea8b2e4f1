/** How one send differs from its task's definition. */
export interface TaskOptions {
  /** Runs after this many milliseconds. */
  readonly delayMs?: number;
  /** Runs at this time; a time that has passed means now. */
  readonly runAt?: Date;
  /** If it has not started by then, it never will: it ends EXPIRED. */
  readonly goodUntil?: Date;
  /** 1–100, lower runs first. */
  readonly priority?: number;
  readonly queue?: string;
  /** One task per name and key: a second send returns the first task. The same key with another input is refused. */
  readonly key?: string;
  readonly flags?: readonly string[] | Readonly<Record<string, boolean>>;
  /** An id of your own: sending the same id and content again is the same task. */
  readonly id?: string;
}

/** A transaction of the caller: a `pg` client inside one, or an object of the same shape. */
export interface CallersTransaction {
  query(text: string, values: unknown[]): Promise<{ readonly rows: unknown[] }>;
}

export interface SendOptions extends TaskOptions {
  /**
   * Joins the caller's transaction: a `pg` client inside one, or anything with its `query(text, values)`. A pool, a client
   * outside of a transaction and a client of another database are refused with VALIDATION_FAILED.
   */
  readonly tx?: CallersTransaction;
}
