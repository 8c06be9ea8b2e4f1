/** From how a body ended to what is written about it. */
import type { ResultCode } from "../domain/errors.ts";
import type { TaskFailure } from "../domain/result.ts";
import type { AbortReason } from "../domain/task-aborted.ts";
import { settle } from "../domain/task-lifecycle.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import type { Decided } from "./decided-options.ts";
import type { Execution } from "./execute-task.ts";
import type { EndedTask } from "./held-tasks.ts";

export function settledTask(
  { id, claimId, queue, priority, retryCount }: ClaimedTask,
  { retry }: Decided,
  execution: Execution,
  isInterrupted: boolean,
): EndedTask {
  const { ran } = execution;
  if (execution.ok) {
    return { id, claimId, queue, priority, edge: "succeed", ran, result: execution.value };
  }
  const { error } = execution;
  const attempt = { retry, retryCount, isInterrupted };
  const settlement = settle(attempt, { ok: false, error }, Math.random());
  return {
    id,
    claimId,
    queue,
    priority,
    edge: settlement.edge,
    ran,
    error: JSON.stringify(error),
    code: error.code,
    ...(settlement.edge === "retry" ? { delayMs: settlement.delayMs } : {}),
  };
}

/** Given back although its body has run: the attempt is kept in the history and costs nothing. */
export function interruptedTask({ id, claimId, queue, priority }: ClaimedTask): EndedTask {
  return { id, claimId, queue, priority, edge: "requeue", ran: true };
}

/** How a task fails whose body was told to stop and did not. */
export function failureOf(reason: AbortReason, { timeoutMs }: Decided): TaskFailure<ResultCode> {
  if (reason === "TIMEOUT") {
    return { code: "TASK_TIMEOUT", message: `the attempt took longer than ${timeoutMs} ms` };
  }
  return { code: "TASK_CANCELLED", message: "the task was cancelled" };
}
