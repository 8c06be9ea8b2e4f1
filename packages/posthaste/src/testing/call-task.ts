/** A handler called by itself: no queue, no database, no worker, but everything a worker does around the handler. */
import { randomUUID } from "node:crypto";
import { DEFAULT_QUEUE } from "../config/config.ts";
import type { TaskContext } from "../define/task-context.ts";
import {
  isTask,
  type AnyTask,
  type CodeOf,
  type OutputOf,
  type SendArguments,
} from "../define/task.ts";
import { PosthasteError } from "../domain/errors.ts";
import { encodeJson } from "../domain/json.ts";
import { childLogger } from "../domain/logger.ts";
import type { TaskResult } from "../domain/result.ts";
import { inputProblems } from "../sending/compose-task.ts";
import { executeTask } from "../worker/execution/execute-task.ts";
import { collectingLogger } from "./collecting-logger.ts";

/** Values for the handler's `ctx` that differ from the defaults. */
export type CallContext = Partial<TaskContext>;

/**
 * Runs the handler of a task once and returns how it ended, as a worker would record it: the input goes through JSON and the
 * input schema, the value through the output schema and JSON, and a thrown value becomes an error. It does not
 * retry: `attempt` sets the number of the attempt.
 *
 *     const result = await callTask(chargeCard, { card: "4711" }, { attempt: 2 });
 *     if (!result.ok) assert.equal(result.error.code, "CARD_EXPIRED");
 */
export async function callTask<T extends AnyTask>(
  task: T,
  ...[input, context]: SendArguments<T, CallContext>
): Promise<TaskResult<OutputOf<T>, CodeOf<T>>> {
  if (!isTask(task)) {
    throw PosthasteError.of("VALIDATION_FAILED", "nothing was called", [
      { path: "task", message: "expected a task with its handler, as implement() makes it" },
    ]);
  }
  const encoded = encodeJson(input, { rejectBytes: null });
  if (!encoded.ok) {
    const problems = inputProblems(encoded.problems);
    throw PosthasteError.of("VALIDATION_FAILED", `task "${task.name}" was not called`, problems);
  }
  const execution = await executeTask({
    task,
    name: task.name,
    input: encoded.text,
    context: contextOf(task, context),
    resultLimit: null,
  });
  return execution.ok
    ? { ok: true, value: JSON.parse(execution.value) as OutputOf<T> }
    : // Through JSON, as it would be stored.
      { ok: false, error: JSON.parse(JSON.stringify(execution.error)) };
}

/** Complete, so that a handler can use all of it; whatever `TaskContext` gains is missed here by the compiler. */
function contextOf(task: AnyTask, given: CallContext = {}): TaskContext {
  const context: Omit<TaskContext, "log"> = {
    taskId: randomUUID(),
    name: task.name,
    queue: task.queue ?? DEFAULT_QUEUE,
    attempt: 1,
    workerId: randomUUID(),
    claimId: randomUUID(),
    signal: new AbortController().signal,
    context: undefined,
    workflow: undefined,
    progress: () => undefined,
    transaction: () => needsDatabase("transaction"),
    complete: () => needsDatabase("complete"),
    send: () => needsDatabase("send"),
    ...given,
  };
  const { taskId, name, attempt } = context;
  const log = childLogger(given.log ?? collectingLogger(), { task: taskId, name, attempt });
  return { ...context, log };
}

async function needsDatabase(method: string): Promise<never> {
  throw new Error(
    `callTask() has no database for ctx.${method}(): give it your own, callTask(task, input, { ${method}: … }), or use testKit()`,
  );
}
