/** From how a body ended to what is written about it. */
import { decideInterrupted } from "../domain/crash-policy.ts";
import type { ResultCode } from "../domain/errors.ts";
import { interruptedByWorker, interruptionError } from "../domain/interruption.ts";
import type { TaskFailure } from "../domain/result.ts";
import type { AbortReason } from "../domain/task-aborted.ts";
import { settle } from "../domain/task-lifecycle.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import type { Decided } from "./decided-options.ts";
import type { Execution } from "./execute-task.ts";
import { endOf, type EndedTask } from "./held-tasks.ts";

export function settledTask(
  claimed: ClaimedTask,
  decided: Decided,
  execution: Execution,
  isInterrupted: boolean,
): EndedTask {
  const occupiesSlot = decided.onCrash !== "requeue";
  if (execution.ok) return succeeded(claimed, execution.value, occupiesSlot);
  const { retryCount } = claimed;
  const { ran, error } = execution;
  const ended = endOf(claimed);
  const attempt = { retry: decided.retry, retryCount, isInterrupted };
  const settlement = settle(attempt, { ok: false, error }, Math.random());
  if (settlement.edge === "requeue") return interruptedTask(claimed, decided, error);
  return {
    ...ended,
    edge: settlement.edge,
    ran,
    occupiesSlot: ran && occupiesSlot,
    ...storedError(error),
    ...(settlement.edge === "retry" ? { delayMs: settlement.delayMs } : {}),
  };
}

/** Most ends of most workers. Spelt out: with Node 20 a spread copy was a tenth of what a task costs its worker. */
function succeeded(claimed: ClaimedTask, result: string, occupiesSlot: boolean): EndedTask {
  const { id, claimId, name, queue, priority, node } = claimed;
  const edge = "succeed";
  return node === undefined
    ? { id, claimId, name, queue, priority, occupiesSlot, edge, ran: true, result }
    : { id, claimId, name, queue, priority, occupiesSlot, isNode: true, edge, ran: true, result };
}

/**
 * The end of a run that was told to stop: by the task's `onCrash`. Unset, it is given back; the attempt is kept in the
 * history and costs nothing.
 *
 * @param thrown how the body stopped, if it did
 */
export function interruptedTask(
  claimed: ClaimedTask,
  { retry, onCrash }: Decided,
  thrown?: TaskFailure,
): EndedTask {
  const ended = { ...endOf(claimed), ran: true, isInterrupted: true } as const;
  const { retryCount } = claimed;
  const wanted = decideInterrupted({ retry, retryCount, onCrash }, Math.random());
  if (wanted.decision !== "retry" && wanted.decision !== "fail")
    return { ...ended, edge: "requeue", ...(thrown === undefined ? {} : storedError(thrown)) };
  const { cause } = thrown ?? {};
  const error = { ...interruptionError(interruptedByWorker), ...(cause && { cause }) };
  return wanted.decision === "retry"
    ? { ...ended, edge: "retry", delayMs: wanted.delayMs, ...storedError(error) }
    : { ...ended, edge: "fail", ...storedError(error) };
}

function storedError(error: TaskFailure): { readonly error: string; readonly code: string } {
  return { error: JSON.stringify(error), code: error.code };
}

/** How a task fails whose body was told to stop and did not. */
export function failureOf(reason: AbortReason, { timeoutMs }: Decided): TaskFailure<ResultCode> {
  if (reason === "TIMEOUT") {
    return { code: "TASK_TIMEOUT", message: `the attempt took longer than ${timeoutMs} ms` };
  }
  return { code: "TASK_CANCELLED", message: "the task was cancelled" };
}
