/** Repeats a call after a lost connection, a restart or a deadlock. Only for statements that may be repeated. */
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
 * where each attempt is slow: a server that accepts connections and never answers takes ten seconds to fail.
 */
const MOST_TRIES = 8;
const PATIENCE_MS = 8_000;
const pauses = { initialMs: 100, maxMs: 2_000 };

const repeatable: ReadonlySet<ErrorKind> = new Set(["connection", "undone", "stale plan"]);

/** The database is unreachable, or has rolled the statement back: its values were not refused. */
export function isRepeatable(error: unknown): boolean {
  if (error instanceof PosthasteError)
    return error.code === "DATABASE_UNAVAILABLE" && error.retryable;
  return repeatable.has(errorKind(error));
}

/** As above, or the server is in trouble: the same statement may succeed in a moment. */
export function mayPass(error: unknown): boolean {
  return isRepeatable(error) || errorKind(error) === "trouble";
}

/** Runs a statement, and again if that is of use. `tries` is how often it was tried before: an earlier try may have gone through unnoticed. */
export type Repeat = <Answer>(run: (tries: number) => Promise<Answer>) => Promise<Answer>;

export const once: Repeat = (run) => run(0);

export async function repeatSafely<Answer>(
  run: (tries: number) => Promise<Answer>,
): Promise<Answer> {
  const backoff = new Backoff(pauses);
  const begunAt = performance.now();
  for (;;) {
    try {
      return await run(backoff.pausesTaken);
    } catch (error) {
      if (!mayPass(error)) throw error;
      const isLast = backoff.pausesTaken >= MOST_TRIES - 1;
      if (isLast || performance.now() - begunAt > PATIENCE_MS) {
        throw unavailable(error, backoff.pausesTaken + 1);
      }
      await pause(backoff.next());
    }
  }
}

/** The error for callers when the database is unreachable, has a passing problem, or lacks our schema. */
export function unavailable(error: unknown, tries = 1): PosthasteError {
  if (error instanceof PosthasteError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  if (isStatementTimeout(error)) {
    return new PosthasteError(
      "STATEMENT_TIMEOUT",
      `PostgreSQL cancelled the statement after ${STATEMENT_TIMEOUT} (statement_timeout), and nothing was written; ` +
        `look in pg_stat_activity for locks and slow statements, or send less at once (${reason})`,
      { cause: error },
    );
  }
  const kind = errorKind(error);
  const times = tries === 1 ? "" : ` after ${tries} attempts`;
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

/** For calls that a role may not make: the error names the missing grant and `posthaste roles`. */
export async function explainMissingRights<Answer>(call: Promise<Answer>): Promise<Answer> {
  try {
    return await call;
  } catch (error) {
    throw explainPermissionError(error);
  }
}
