/** Repeating what a lost connection, a restart or a deadlock undid. Only for statements that may be repeated. */
import { PosthasteError } from "../domain/errors.ts";
import { Backoff } from "../runtime/backoff.ts";
import { pause } from "../runtime/pause.ts";
import {
  errorKind,
  explainPermissionError,
  isStatementTimeout,
  type ErrorKind,
} from "../store/pg-errors.ts";
import { STATEMENT_TIMEOUT } from "../store/session-settings.ts";

/**
 * About seven seconds in all: longer than a restart of PostgreSQL, shorter than a caller's patience. The limit counts
 * where each attempt is slow: a server that accepts and says nothing takes ten seconds to fail.
 */
const ATTEMPTS = 8;
const PATIENCE_MS = 8_000;
const pauses = { initialMs: 100, maxMs: 2_000 };

const repeatable: ReadonlySet<ErrorKind> = new Set(["connection", "undone", "stale plan"]);

/** The database is away, or has undone the statement: nothing is said about what the statement was to write. */
export function isRepeatable(error: unknown): boolean {
  if (error instanceof PosthasteError)
    return error.code === "DATABASE_UNAVAILABLE" && error.retryable;
  return repeatable.has(errorKind(error));
}

/** As above, or the server is in trouble: the same statement may succeed in a moment. */
export function mayPass(error: unknown): boolean {
  return isRepeatable(error) || errorKind(error) === "trouble";
}

/** Runs a statement, and again if that is of use. `attempt` is 0 the first time: from then on, an earlier try may have gone through unnoticed. */
export type Repeat = <Answer>(run: (attempt: number) => Promise<Answer>) => Promise<Answer>;

export const once: Repeat = (run) => run(0);

export async function repeatSafely<Answer>(
  run: (attempt: number) => Promise<Answer>,
): Promise<Answer> {
  const backoff = new Backoff(pauses);
  const begunAt = performance.now();
  for (;;) {
    try {
      return await run(backoff.attempts);
    } catch (error) {
      if (!mayPass(error)) throw error;
      const isLast = backoff.attempts >= ATTEMPTS - 1;
      if (isLast || performance.now() - begunAt > PATIENCE_MS) {
        throw unavailable(error, backoff.attempts + 1);
      }
      await pause(backoff.next());
    }
  }
}

/** What the caller is told when the database is away, in trouble, or not set up for it. */
export function unavailable(error: unknown, attempts = 1): PosthasteError {
  if (error instanceof PosthasteError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  if (isStatementTimeout(error)) {
    return new PosthasteError(
      "STATEMENT_TIMEOUT",
      `PostgreSQL cancelled the statement, which may take ${STATEMENT_TIMEOUT} (statement_timeout); the server answers, ` +
        `and nothing was written: look in pg_stat_activity for locks and slow statements, or send less at once (${reason})`,
      { cause: error },
    );
  }
  const kind = errorKind(error);
  const times = attempts === 1 ? "" : ` after ${attempts} attempts`;
  const happened = kind === "trouble" || kind === "setup" ? "refused" : "did not answer";
  const advice =
    kind === "setup"
      ? "; expected the rights that `posthaste roles` prints and a schema made by `posthaste migrate`"
      : "";
  return new PosthasteError(
    "DATABASE_UNAVAILABLE",
    `the database ${happened}${times}: ${reason}${advice}`,
    { cause: error },
  );
}

/** For calls that a role may not be allowed to make: says which grant is missing, and where grants come from. */
export async function explainRefusal<Answer>(call: Promise<Answer>): Promise<Answer> {
  try {
    return await call;
  } catch (error) {
    throw explainPermissionError(error);
  }
}
