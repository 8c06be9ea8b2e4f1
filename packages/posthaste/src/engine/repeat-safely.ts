/** Repeating what a lost connection, a restart or a deadlock undid. Only for statements that may be repeated. */
import { PosthasteError } from "../domain/errors.ts";
import { Backoff } from "../runtime/backoff.ts";
import { pause } from "../runtime/pause.ts";
import { isConnectionError, isStalePlan, isTransient } from "../store/pg-errors.ts";

/** About seven seconds in all: longer than a restart of PostgreSQL, shorter than a caller's patience. */
const ATTEMPTS = 8;
const pauses = { initialMs: 100, maxMs: 2_000 };

export function isRepeatable(error: unknown): boolean {
  if (error instanceof PosthasteError) return error.code === "DATABASE_UNAVAILABLE" && error.retryable;
  return isConnectionError(error) || isTransient(error) || isStalePlan(error);
}

/** `attempt` is 0 the first time: from then on, an earlier try may have gone through unnoticed. */
export async function repeatSafely<Answer>(
  run: (attempt: number) => Promise<Answer>,
): Promise<Answer> {
  const backoff = new Backoff(pauses);
  for (;;) {
    try {
      return await run(backoff.attempts);
    } catch (error) {
      if (!isRepeatable(error)) throw error;
      if (backoff.attempts >= ATTEMPTS - 1) throw unavailable(error);
      await pause(backoff.next());
    }
  }
}

function unavailable(error: unknown): PosthasteError {
  if (error instanceof PosthasteError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new PosthasteError(
    "DATABASE_UNAVAILABLE",
    `the database did not answer after ${ATTEMPTS} attempts: ${reason}`,
    { cause: error },
  );
}
