/** Nodes that run something: a task, a nested workflow, or either for every item of a list. */
import { article } from "../domain/names.ts";
import type { GraphReference, TaskFacts } from "../domain/workflow-graph.ts";
import { fillValue, type FilledValue, type RefScope } from "./fill-values.ts";
import { nodePath, type GraphDraft } from "./graph-draft.ts";
import { readAfterOption, readNodeOptions, type ReadOptions } from "./node-options.ts";
import { isContract } from "./task.ts";
import { isWorkflow } from "./workflow.ts";

/** The arguments of `flow.node` and `flow.workflow`, as they arrive from JavaScript. */
export interface NodeArguments {
  readonly id: unknown;
  readonly runs: unknown;
  readonly input: unknown;
  readonly options: unknown;
}

export interface EachArguments extends Omit<NodeArguments, "input"> {
  readonly over: unknown;
  readonly mapper: unknown;
}

export function addTaskNode(draft: GraphDraft, given: NodeArguments): object {
  draft.begin("node");
  const id = draft.readId(given.id);
  const read = readTask(draft, id, given, draft);
  const input = readInput(draft, id, given.input, draft);
  if (read !== undefined) {
    const needs = needsOf(draft, id, read, input);
    draft.add({ id, kind: "task", ...needs, ...read.facts, input: input.filled });
  }
  return draft.handle(id);
}

export function addWorkflowNode(draft: GraphDraft, given: NodeArguments): object {
  draft.begin("workflow");
  const id = draft.readId(given.id);
  const read = readNested(draft, id, given);
  const input = readInput(draft, id, given.input, draft);
  if (read !== undefined) {
    const needs = needsOf(draft, id, read, input);
    draft.add({ id, kind: "workflow", ...needs, ...read.facts, input: input.filled });
  }
  return draft.handle(id);
}

export function addEachNode(draft: GraphDraft, given: EachArguments): object {
  draft.begin("each");
  const id = draft.readId(given.id);
  const read = isWorkflow(given.runs)
    ? readNested(draft, id, given)
    : readTask(draft, id, given, draft);
  const over = readOver(draft, id, given.over);
  const input = readItemInput(draft, id, given.mapper);
  const [hole] = over.filled.holes;
  if (read !== undefined && hole !== undefined) {
    const needs = needsOf(draft, id, read, over, input);
    draft.add({ id, kind: "each", ...needs, ...read.facts, over: hole, input: input.filled });
  }
  return draft.handle(id, { results: draft.ref(id, "results") });
}

function readTask(
  draft: GraphDraft,
  id: string,
  { runs, options }: Pick<NodeArguments, "runs" | "options">,
  scope: RefScope,
): ReadOptions<TaskFacts> | undefined {
  if (!isContract(runs)) {
    const found = isWorkflow(runs) ? "a workflow; use flow.workflow(…)" : article(runs);
    draft.complain("NODE_TASK_INVALID", nodePath(id), `expected a task, found ${found}`);
    return undefined;
  }
  draft.tasks.add(runs);
  const read = readNodeOptions(options, runs, nodePath(id), scope);
  draft.problems.push(...read.problems);
  return read;
}

function readNested(
  draft: GraphDraft,
  id: string,
  { runs, options }: Pick<NodeArguments, "runs" | "options">,
): ReadOptions<{ readonly workflow: GraphReference }> | undefined {
  if (!isWorkflow(runs)) {
    const found = isContract(runs) ? "a task; use flow.node(…)" : article(runs);
    draft.complain("NODE_TASK_INVALID", nodePath(id), `expected a workflow, found ${found}`);
    return undefined;
  }
  const read = readAfterOption(options, nodePath(id));
  draft.problems.push(...read.problems);
  return { ...read, facts: { workflow: draft.reference(runs) } };
}

function readInput(draft: GraphDraft, id: string, input: unknown, scope: RefScope): FilledValue {
  const value = fillValue(input, `${nodePath(id)}.input`, scope, "INPUT_NOT_JSON");
  draft.problems.push(...value.problems);
  return value;
}

function readOver(draft: GraphDraft, id: string, over: unknown): FilledValue {
  const path = `${nodePath(id)}.over`;
  const value = fillValue(over, path, draft, "INPUT_NOT_JSON");
  draft.problems.push(...value.problems);
  const isRef = value.filled.holes[0]?.path.length === 0;
  if (!isRef && value.problems.length === 0) {
    const message = `expected a ref to a list, found ${article(over)}; for items that are known already, call flow.node(…) in a loop`;
    draft.complain("EACH_INVALID", path, message);
  }
  return value;
}

function readItemInput(draft: GraphDraft, id: string, mapper: unknown): FilledValue {
  if (typeof mapper !== "function") {
    const message = `expected a function for the input of an item, found ${article(mapper)}`;
    draft.complain("EACH_INVALID", `${nodePath(id)}.input`, message);
    return readInput(draft, id, undefined, draft);
  }
  const item = draft.ref("$item", "output", mapper);
  const index = draft.ref("$index", "output", mapper);
  const made: unknown = draft.mapping(() => Reflect.apply(mapper, undefined, [item, index]));
  return readInput(draft, id, made, { build: draft, mapper });
}

function needsOf(
  draft: GraphDraft,
  id: string,
  read: ReadOptions<unknown>,
  ...values: readonly FilledValue[]
): ReturnType<GraphDraft["allOf"]> {
  const after = draft.after(read.after, `${nodePath(id)}.after`);
  return draft.allOf([...values.flatMap(({ needs }) => needs), ...read.needs, ...after]);
}
