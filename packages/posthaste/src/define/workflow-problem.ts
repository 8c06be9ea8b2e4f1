/** The problems of a workflow that the compiler cannot find. */
import type { Problem } from "../domain/errors.ts";

/** Stable: programs may look at them, and docs/guides/workflow-checks.md lists them. */
export const workflowProblemCodes = {
  WORKFLOW_OPTION_INVALID: "an option of defineWorkflow is unknown or not what it should be",
  WORKFLOW_NAME_INVALID: "the workflow's name is not 1 to 255 printable characters",
  WORKFLOW_VERSION_INVALID: "the version is not a positive whole number",
  WORKFLOW_EMPTY: "build makes no node",
  BUILD_THREW: "build threw an error",
  BUILD_ASYNC: "build returns a promise",
  NODE_ID_INVALID: "the id of a node is not 1 to 128 letters, digits and _ - : .",
  NODE_ID_DUPLICATE: "two nodes of one workflow have the same id",
  NODE_TASK_INVALID: "a node has no task, or no workflow, to run",
  NODE_OPTION_INVALID: "an option of a node is unknown or not what it should be",
  AFTER_INVALID: "something in after is neither a node nor a join",
  INPUT_NOT_JSON: "a part of an input cannot be stored as JSON",
  INPUT_REFUSED: "the task's schema refuses a part of an input that is known already",
  NODE_AS_VALUE: "a node stands where a value is expected, without .output or .result",
  REF_AS_VALUE: "a ref was used as if it were the value it stands for",
  REF_FOREIGN: "a ref or a node belongs to another workflow's build",
  ITEM_REF_OUTSIDE: "the item or index of a fan-out is used outside of its function",
  EACH_INVALID: "a fan-out has no list to go over, or no function for the input of an item",
  JOIN_SOURCE_INVALID:
    "a join has no sources, the same source twice, or something else as a source",
  QUORUM_INVALID: "a quorum asks for more successes than it has sources, or for less than one",
  CONDITION_INVALID: "the condition of flow.when is neither a ref nor flow.equals(…)",
  BRANCH_INVALID: "a branch of flow.when is not a function",
  OUTPUT_INVALID: "what build returns cannot be stored as JSON",
  SUCCESS_CASES_EMPTY: "the list of success cases is empty",
  SUCCESS_CASE_EMPTY: "a success case names no node",
  SUCCESS_NODE_UNKNOWN: "a success rule names a node that does not exist",
  WORKFLOW_NAME_TAKEN: "two different workflows have the same name and version",
  WORKFLOW_CYCLE: "a workflow is nested in itself",
  TASK_NAME_TAKEN: "two different tasks have the same name",
  TASK_NOT_REGISTERED: "the task of a node is not among the app's tasks",
  QUEUE_UNKNOWN: "the queue of a node is not configured",
} as const;

export type WorkflowProblemCode = keyof typeof workflowProblemCodes;

/** One thing that is wrong with a workflow. */
export interface WorkflowProblem extends Problem {
  readonly code: WorkflowProblemCode;
}

/** `input` and `items[3].price` make `input.items[3].price`. */
export function joinedPath(prefix: string, path: string): string {
  if (prefix === "" || path === "") return prefix + path;
  return path.startsWith("[") ? prefix + path : `${prefix}.${path}`;
}

/** Problems without a code of their own, with this one, and with paths that begin at `prefix`. */
export function coded(
  code: WorkflowProblemCode,
  prefix: string,
  problems: readonly Problem[],
): WorkflowProblem[] {
  return problems.map(({ path, message }) => ({ code, path: joinedPath(prefix, path), message }));
}
