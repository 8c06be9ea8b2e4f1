/** A run of a workflow, from the side of who started it. */
import type { WaitOptions } from "../define/task-handle.ts";
import type { AnyWorkflow } from "../define/workflow.ts";
import type { NodeResults, WorkflowResult, WorkflowRun } from "../define/workflow-run.ts";
import { WorkflowFailedError } from "../domain/errors.ts";
import { decodeResult } from "../domain/stored-result.ts";
import type { Database } from "../engine/database.ts";
import type { HookRunner } from "../engine/hooks.ts";
import {
  readNodeResult,
  readNodeResults,
  readWorkflowInfo,
  readWorkflowNodes,
  readWorkflowStatus,
} from "../engine/read-workflow.ts";
import { repeatSafely } from "../engine/repeat-safely.ts";
import {
  cancelWorkflow,
  pauseWorkflow,
  resumeWorkflow,
  retryWorkflow,
} from "../engine/steer-workflow.ts";
import { checkWait } from "./check-wait.ts";
import type { ResultWaits } from "./result-waits.ts";

/** @param waits for runs, not for tasks */
export function workflowRun<W extends AnyWorkflow>(
  database: Database,
  waits: ResultWaits,
  hooks: HookRunner,
  id: string,
): WorkflowRun<W> {
  const result = async (options?: WaitOptions): Promise<WorkflowResult<W>> => {
    checkWait(options);
    return decodeResult(await waits.wait(id, options)) as WorkflowResult<W>;
  };
  return {
    id,
    status: () => repeatSafely(() => readWorkflowStatus(database, id)),
    result,
    async value(options) {
      const ended = await result(options);
      if (ended.ok) return ended.value;
      throw new WorkflowFailedError(id, ended.error);
    },
    results: () => repeatSafely(() => readNodeResults(database, id)) as Promise<NodeResults<W>>,
    resultFor: (node) => repeatSafely(() => readNodeResult(database, id, node)),
    nodes: () => repeatSafely(() => readWorkflowNodes(database, id)),
    info: () => repeatSafely(() => readWorkflowInfo(database, id)),
    pause: () => pauseWorkflow(database, id),
    resume: () => resumeWorkflow(database, id),
    cancel: () => cancelWorkflow(database, hooks, id),
    retryFrom: (...nodes) => retryWorkflow(database, id, nodes),
  };
}
