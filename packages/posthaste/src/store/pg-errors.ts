/** The meaning of errors of the driver and of PostgreSQL. */
import { PosthasteError } from "../domain/errors.ts";

/**
 * The kind of an error, which decides what to do about it:
 *  - "connection": the session is lost, cannot be opened, or leads to a read-only server; try another one
 *  - "undone": serialization failure, deadlock, lock or statement timeout; the same statement may simply be repeated
 *  - "stale plan": prepared no more, or prepared for another table; a new session prepares it afresh
 *  - "trouble": the server is out of disk or memory, or has an internal error; the same statement may succeed later
 *  - "setup": a right, a table or a function is missing; it succeeds after an operator has added it
 *  - "duplicate": a row with this key is stored already
 *  - "value": this row is refused, now and later
 *  - "unknown": an error without a SQLSTATE
 */
export type ErrorKind =
  | "connection"
  | "undone"
  | "stale plan"
  | "trouble"
  | "setup"
  | "duplicate"
  | "value"
  | "unknown";

/** The one place that knows which SQLSTATE is about what. Every SQLSTATE that is not named here is "trouble". */
export function errorKind(error: unknown): ErrorKind {
  const code = errorCode(error) ?? "";
  if (/^08...$/.test(code) || CONNECTION_STATES.has(code) || SOCKET_CODES.has(code))
    return "connection";
  // A state that PostgreSQL itself reported is about the statement, whatever its message quotes.
  if (!SQLSTATE.test(code))
    return error instanceof Error && DRIVER_MESSAGES.test(error.message) ? "connection" : "unknown";
  if (UNDONE_STATES.has(code)) return "undone";
  if (code === "26000" || (code === "0A000" && /cached plan/.test(messageOf(error))))
    return "stale plan";
  if (code === "23505") return "duplicate";
  if (code === "54000" && /NOTIFY queue/.test(messageOf(error))) return "trouble";
  const errorClass = code.slice(0, 2);
  if (VALUE_CLASSES.has(errorClass) || code === "P0001") return "value";
  return SETUP_CLASSES.has(errorClass) ? "setup" : "trouble";
}

export function isConnectionError(error: unknown): boolean {
  return errorKind(error) === "connection";
}

export function isUniqueViolation(error: unknown): boolean {
  return errorKind(error) === "duplicate";
}

/** Another session held a lock for longer than the statement may wait. */
export function isLockTimeout(error: unknown): boolean {
  return errorCode(error) === "55P03";
}

/** The statement ran longer than its session allows, or was cancelled. The server answers. */
export function isStatementTimeout(error: unknown): boolean {
  return errorCode(error) === "57014";
}

/** The role may not do this. */
export function isMissingRight(error: unknown): boolean {
  return errorCode(error) === "42501";
}

/**
 * One clear line for a connection that could not be opened. `shown` is the URL with its password masked; the driver's
 * own error is not kept as `cause`, because it may carry the connection's parameters.
 */
export function explainConnectError(error: unknown, shown: string): PosthasteError {
  const code = errorCode(error) ?? "";
  const problem = CONNECT_PROBLEMS[code] ?? unnamedProblem(error);
  // Errors that waiting cannot fix are thrown at once.
  const retryable = !MISTAKES.has(code) && problem !== NOT_POSTGRESQL;
  return new PosthasteError("DATABASE_UNAVAILABLE", `cannot connect to ${shown}: ${problem}`, {
    retryable,
  });
}

/** Explains a statement that the role may not run: what PostgreSQL refused, and where grants come from. Other errors pass unchanged. */
export function explainPermissionError(error: unknown): unknown {
  if (!isMissingRight(error)) return error;
  return new PosthasteError(
    "PERMISSION_DENIED",
    `${messageOf(error)}; expected the grants that \`posthaste roles\` prints: make the role of database.url a member of the producer, ` +
      "worker or reader role, and migrate as the migrator (with autoMigrate: false everywhere else). Run the script again after every migration",
    { cause: error },
  );
}

const SQLSTATE = /^[0-9A-Z]{5}$/;

// 57P01-57P03: shut down, crash, starting up. 57P04, 57P05, 25P03, 25P04: this session was ended. 53300: too many
// connections. 25006: a read-only server.
const CONNECTION_STATES = new Set(
  "57P01 57P02 57P03 57P04 57P05 25P03 25P04 53300 25006".split(" "),
);

const SOCKET_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
]);

const UNDONE_STATES = new Set(["40001", "40P01", "55P03", "57014"]);

// 21: more rows than one. 22: data. 23: constraints. 44: a view's check option. 54: too large, too deep.
const VALUE_CLASSES = new Set(["21", "22", "23", "44", "54"]);

// 0A: not supported. 3D: no such database. 3F: no such schema. 42: no right, no such table, column or function.
const SETUP_CLASSES = new Set(["0A", "3D", "3F", "42"]);

// The driver's own errors carry no code.
const DRIVER_MESSAGES =
  /Connection terminated|Client has encountered a connection error|Client was closed|timeout expired|Query read timeout|socket hang up|Connection ended unexpectedly/i;

// Wrong password, refused user or host, no such database.
const MISTAKES = new Set(["28P01", "28000", "3D000"]);

const NOT_POSTGRESQL = "the server at this address is not PostgreSQL";

const CONNECT_PROBLEMS: Readonly<Record<string, string>> = {
  "28P01": "the password was refused; check the user and password of the URL",
  "28000": "the server refuses this user or host; check the URL's user and pg_hba.conf",
  "3D000": "the server has no such database; create it or correct the URL",
  "25006": "the server accepts no writes: it is a standby, or read-only by default",
  "53300": "the server has no free connection; raise max_connections or run fewer processes",
  "57P03": "the server is starting up or shutting down",
  ECONNREFUSED: "nothing listens there; is PostgreSQL running, and are host and port right?",
  ENOTFOUND: "the host name is not known",
  EAI_AGAIN: "the host name could not be looked up",
  ETIMEDOUT: "no answer in time",
};

function unnamedProblem(error: unknown): string {
  const message = messageOf(error);
  if (/timeout expired/i.test(message))
    return "no answer in time; is it PostgreSQL that listens there?";
  if (/Connection terminated|ended unexpectedly|ECONNRESET/i.test(message))
    return "the server closed the connection; is it PostgreSQL that listens there?";
  if (/unexpected response|Unknown authentication|received invalid|message code/i.test(message))
    return NOT_POSTGRESQL;
  const code = errorCode(error);
  return code === undefined ? message : `${message} (${code})`;
}

export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
