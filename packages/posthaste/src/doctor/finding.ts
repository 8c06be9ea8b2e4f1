/** A finding of `doctor`: what is wrong, and what to do. */

/** Every finding there is, with its meaning. */
export const findingCodes = {
  SERVER_READ_ONLY: "the server is a standby, where nothing can be sent or claimed",
  AUTOVACUUM_OFF: "autovacuum is off, for the server or for one of our tables",
  DURABILITY_OFF: "fsync or full_page_writes is off: a power cut may lose or damage tasks",
  SCHEMA_ABSENT: "the schema has no tables of ours",
  SCHEMA_BEHIND: "migrations or functions of this version have not been applied",
  SCHEMA_NEWER: "the schema has migrations that this version does not know",
  OBJECT_MISSING: "a table, column, index, function or view of this version is missing",
  OBJECT_CHANGED: "one of them has another definition than this version gives it",
  INDEX_INVALID: "an index was not built to its end, so that no query uses it",
  SCHEMA_NOT_COMPARED: "the definitions could not be compared: the role may not create a schema",
  LISTEN_FAILED: "notifications do not arrive, so that workers wait for their poll",
  POOLER: "a pooler gives each transaction another session",
  CONNECTIONS_SHORT: "the server has too few connections for the workers there are",
  ROLE_DEFAULT: "a default of the role or database changes our sessions or your transactions",
  TRANSACTION_OPEN: "a transaction has been open for long, and holds vacuum back",
  TRANSACTION_PREPARED: "a prepared transaction was neither committed nor rolled back",
  SLOT_HOLDS_BACK: "a replication slot holds back vacuum, or keeps the write-ahead log",
  STANDBY_HOLDS_BACK: "a standby holds back vacuum by hot_standby_feedback",
  SESSIONS_HIDDEN: "this role does not see the sessions of others",
  DEAD_ROWS: "vacuum does not keep up with a table",
  BLOAT: "a table is many times larger than its rows",
  CLOCK_DIFFERS: "the clocks of this machine and of the server differ",
  NAME_UNKNOWN: "tasks wait for a worker that knows their name",
  QUEUE_UNSERVED: "no living worker serves a queue",
  WORKER_STALE: "a worker should be alive and has no recent heartbeat",
  WORKER_BLOCKED: "the event loop of a worker is blocked",
  SCHEDULE_LATE: "a slot of a schedule is due and has not fired",
  SCHEDULE_ORPHANED: "a schedule is in the code of no living process",
  SCHEDULE_PAUSED: "a schedule was paused because it could not fire",
  RECOVERY_OFF: "a part of recovery is disabled",
} as const;

export type FindingCode = keyof typeof findingCodes;

export interface Finding {
  readonly code: FindingCode;
  /** problem: something does not work, or work is stuck. warning: it will go wrong under load or with time. info: to know. */
  readonly level: "problem" | "warning" | "info";
  readonly message: string;
  /** The next step. */
  readonly advice: string;
  readonly facts: Readonly<Record<string, unknown>>;
}
