/** The handle of a run: results, info and steering. */
import type { Database } from "../database/database.ts";
import { repeatSafely } from "../database/repeat-safely.ts";
import type { WaitOptions } from "../define/task-handle.ts";
import type { NodeResults, WorkflowResult, WorkflowRun } from "../define/workflow-run.ts";
import type { AnyWorkflow } from "../define/workflow.ts";
import { WorkflowFailedError } from "../domain/errors.ts";
import { decodeResult } from "../domain/result.ts";
import type { HookRunner } from "../hooks/hook-runner.ts";
import {
  readNodeResult,
  readNodeResults,
  readWorkflowInfo,
  readWorkflowNodes,
  readWorkflowStatus,
} from "../workflows/read-workflow.ts";
import {
  cancelWorkflow,
  pauseWorkflow,
  resumeWorkflow,
  retryWorkflow,
} from "../workflows/steer-workflow.ts";
import { checkWait, type ResultWaits } from "./result-waits.ts";

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
