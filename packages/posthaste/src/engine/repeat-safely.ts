/** Repeating what a lost connection, a restart or a deadlock undid. Only for statements that may be repeated. */
import { PosthasteError } from "../domain/errors.ts";
import { Backoff } from "../runtime/backoff.ts";
import { pause } from "../runtime/pause.ts";
import { isConnectionError, isStalePlan, isTransient } from "../store/pg-errors.ts";

/**
 * About seven seconds in all: longer than a restart of PostgreSQL, shorter than a caller's patience. The limit counts
 * where each attempt is slow: a server that accepts and says nothing takes ten seconds to fail.
 */
const ATTEMPTS = 8;
const PATIENCE_MS = 8_000;
const pauses = { initialMs: 100, maxMs: 2_000 };

export function isRepeatable(error: unknown): boolean {
  if (error instanceof PosthasteError)
    return error.code === "DATABASE_UNAVAILABLE" && error.retryable;
  return isConnectionError(error) || isTransient(error) || isStalePlan(error);
}

/** `attempt` is 0 the first time: from then on, an earlier try may have gone through unnoticed. */
export async function repeatSafely<Answer>(
  run: (attempt: number) => Promise<Answer>,
): Promise<Answer> {
  const backoff = new Backoff(pauses);
  const begunAt = performance.now();
  for (;;) {
    try {
      return await run(backoff.attempts);
    } catch (error) {
      if (!isRepeatable(error)) throw error;
      const isLast = backoff.attempts >= ATTEMPTS - 1;
      if (isLast || performance.now() - begunAt > PATIENCE_MS) {
        throw unavailable(error, backoff.attempts + 1);
      }
      await pause(backoff.next());
    }
  }
}

function unavailable(error: unknown, attempts: number): PosthasteError {
  if (error instanceof PosthasteError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new PosthasteError(
    "DATABASE_UNAVAILABLE",
    `the database did not answer after ${attempts} attempts: ${reason}`,
    { cause: error },
  );
}
