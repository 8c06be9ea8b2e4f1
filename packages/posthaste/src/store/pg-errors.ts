/** What an error of the driver or of PostgreSQL means to us. */
import { PosthasteError } from "../domain/errors.ts";

/** The connection is gone, cannot be had, or leads to a server that takes no writes: try again on another one. */
export function isConnectionError(error: unknown): boolean {
  const code = errorCode(error);
  if (code !== undefined) {
    if (/^08...$/.test(code) || CONNECTION_STATES.has(code) || SOCKET_CODES.has(code)) return true;
    // A state that PostgreSQL itself reported and that is none of the above is about the statement.
    if (SQLSTATE.test(code)) return false;
  }
  return error instanceof Error && DRIVER_MESSAGES.test(error.message);
}

/** The statement was undone and may simply be repeated: serialization failure, deadlock, lock or statement timeout. */
export function isTransient(error: unknown): boolean {
  const code = errorCode(error);
  return code !== undefined && TRANSIENT_STATES.has(code);
}

export function isUniqueViolation(error: unknown): boolean {
  return errorCode(error) === "23505";
}

/** Somebody holds a lock for longer than the statement would wait. */
export function isLockTimeout(error: unknown): boolean {
  return errorCode(error) === "55P03";
}

/** A statement that is prepared no more, or whose plan no longer fits: a new connection prepares it afresh. */
export function isStalePlan(error: unknown): boolean {
  const code = errorCode(error);
  return code === "26000" || (code === "0A000" && /cached plan/.test(messageOf(error)));
}

/**
 * One clear line for a connection that could not be opened. `shown` is the URL with its password masked; the driver's
 * own error is not kept as `cause`, because it may carry the connection's parameters.
 */
export function explainConnectError(error: unknown, shown: string): PosthasteError {
  const code = errorCode(error) ?? "";
  const problem = CONNECT_PROBLEMS[code] ?? unnamedProblem(error);
  // What waiting cannot mend is said at once.
  const retryable = !MISTAKES.has(code) && problem !== NOT_POSTGRESQL;
  return new PosthasteError("DATABASE_UNAVAILABLE", `cannot connect to ${shown}: ${problem}`, {
    retryable,
  });
}

const SQLSTATE = /^[0-9A-Z]{5}$/;

// 57P01-57P03: shut down, crash, starting up. 53300: too many connections. 25006: a read-only server.
const CONNECTION_STATES = new Set(["57P01", "57P02", "57P03", "53300", "25006"]);

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

const TRANSIENT_STATES = new Set(["40001", "40P01", "55P03", "57014"]);

// The driver's own errors carry no code.
const DRIVER_MESSAGES =
  /Connection terminated|Client has encountered a connection error|Client was closed|timeout expired|Query read timeout|socket hang up|Connection ended unexpectedly/i;

// Wrong password, refused user or host, no such database.
const MISTAKES = new Set(["28P01", "28000", "3D000"]);

const NOT_POSTGRESQL = "what answers there is not PostgreSQL";

const CONNECT_PROBLEMS: Readonly<Record<string, string>> = {
  "28P01": "the password was refused; check the user and password of the URL",
  "28000": "the server refuses this user or host; check the URL's user and pg_hba.conf",
  "3D000": "the server has no such database; create it or correct the URL",
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
