/** A result as it was stored, back into what a caller gets. */
import type { ResultCode } from "./errors.ts";
import type { TaskFailure, TaskResult } from "./result.ts";
import { TaskStatus } from "./task-lifecycle.ts";

export function decodeResult(stored: {
  readonly status: string | null;
  readonly result: string | null;
  readonly error: string | null;
}): TaskResult<unknown> {
  const { status, result, error } = stored;
  if (status === TaskStatus.COMPLETED && result !== null)
    return { ok: true, value: JSON.parse(result) };
  if (error !== null) return { ok: false, error: JSON.parse(error) as TaskFailure };
  const code: ResultCode = "RESULT_NOT_AVAILABLE";
  return {
    ok: false,
    error: { code, message: `the task is ${status}, but its result is not stored` },
  };
}
