/** Workflows as authors write them. A definition is an inert value: making or importing one opens no connection. */
import { PosthasteError } from "../domain/errors.ts";
import { article } from "../domain/names.ts";
import type { SuccessRule, WorkflowGraph } from "../domain/workflow-graph.ts";
import { fillValue } from "./fill-values.ts";
import { makeFlow, outputFacts } from "./flow-builder.ts";
import { GraphDraft } from "./graph-draft.ts";
import { RefUsedError } from "./refs.ts";
import { isSchema, isThenable } from "./schema.ts";
import type { OptionalSchema } from "./task-options.ts";
import type { RawOptions } from "./task-rules.ts";
import { optionProblems, successProblems } from "./workflow-option-rules.ts";
import type { DefinedWorkflow, SuccessOptions, WorkflowOptions } from "./workflow-options.ts";
import { workflowBrand, type AnyWorkflow, type WorkflowTypes } from "./workflow.ts";

/**
 * Defines a workflow: a graph of tasks. `build` runs once, at once. Its `input` and the outputs of nodes are refs:
 * places where a value will be.
 *
 *     const shipOrder = defineWorkflow({
 *       name: "ship-order",
 *       input: z.object({ orderId: z.string() }),
 *       build: (flow, input) => {
 *         const order = flow.node("order", fetchOrder, { id: input.orderId });
 *         const paid = flow.node("paid", charge, { total: order.output.total });
 *         return { receipt: paid.output.receipt };
 *       },
 *     });
 *
 * Mistakes that the compiler cannot see are not thrown: `app.check()` reports those of all workflows at once, and
 * `app.start` refuses a workflow that has any.
 */
export function defineWorkflow<
  Input extends OptionalSchema = undefined,
  Success extends SuccessOptions | undefined = undefined,
  const Returned = undefined,
>(options: WorkflowOptions<Input, Success, Returned>): DefinedWorkflow<Input, Success, Returned>;
export function defineWorkflow(options: unknown): AnyWorkflow {
  if (typeof options !== "object" || options === null) {
    const message = `expected an object of options, found ${article(options)}`;
    throw PosthasteError.of("DEFINITION_INVALID", "the workflow is not valid", [
      { path: "", message },
    ]);
  }
  const raw: RawOptions = { ...options };
  const name = typeof raw["name"] === "string" ? raw["name"] : "";
  const draft = new GraphDraft(name);
  draft.problems.push(...optionProblems(raw));
  const output = runBuild(draft, raw["build"]);
  draft.problems.push(...successProblems(raw["success"], [...draft.ids]));
  const graph: WorkflowGraph = {
    format: 1,
    name,
    version: typeof raw["version"] === "number" ? raw["version"] : 1,
    onError: raw["onError"] === "pause" ? "pause" : "fail",
    success: successRule(raw["success"]),
    nodes: draft.nodes,
    output,
  };
  return workflowOf(graph, raw, draft);
}

function workflowOf(graph: WorkflowGraph, raw: RawOptions, draft: GraphDraft): AnyWorkflow {
  return Object.freeze({
    // The types of a workflow exist only for the compiler: at run time their place holds the mark of a definition.
    [workflowBrand]: true as unknown as WorkflowTypes,
    name: graph.name,
    version: graph.version,
    input: isSchema(raw["input"]) ? raw["input"] : undefined,
    graph: deeplyFrozen(graph),
    children: Object.freeze([...draft.children.keys()]),
    tasks: Object.freeze([...draft.tasks]),
    problems: Object.freeze(draft.problems),
  });
}

/** The value that `build` returned. */
function runBuild(draft: GraphDraft, build: unknown): WorkflowGraph["output"] {
  let returned: unknown;
  if (typeof build === "function") {
    try {
      returned = Reflect.apply(build, undefined, [makeFlow(draft), draft.ref("$input", "output")]);
    } catch (error) {
      const code = error instanceof RefUsedError ? "REF_AS_VALUE" : "BUILD_THREW";
      draft.complain(
        code,
        "build",
        error instanceof Error ? error.message : `threw ${article(error)}`,
      );
      returned = undefined;
    }
    if (!hasNodes(draft) && draft.problems.every(({ path }) => path !== "build")) {
      draft.complain("WORKFLOW_EMPTY", "build", "expected at least one node, found none");
    }
  }
  const output = readOutput(draft, returned);
  draft.close();
  return output;
}

/** Gates alone do nothing. */
function hasNodes({ ids }: GraphDraft): boolean {
  return [...ids].some((id) => !id.startsWith("$"));
}

function readOutput(draft: GraphDraft, returned: unknown): WorkflowGraph["output"] {
  if (isThenable(returned)) {
    const message =
      "expected a synchronous function, found an async one; build describes the graph, and the tasks do the waiting";
    draft.complain("BUILD_ASYNC", "build", message);
    // Its rejection is a consequence of the problem that was just reported.
    void Promise.resolve(returned).catch(() => undefined);
    return { template: null, holes: [] };
  }
  const named = outputFacts(returned);
  if (named !== undefined) {
    // Their ids are known to the compiler; here is nothing to do but to see that they are nodes.
    draft.after(named.nodes, "flow.output");
  }
  const value = named === undefined ? returned : named.value;
  const { filled, problems } = fillValue(value, "output", draft, "OUTPUT_INVALID");
  draft.problems.push(...problems);
  return filled;
}

function successRule(given: unknown): SuccessRule | null {
  if (typeof given !== "object" || given === null) return null;
  const { cases, optional } = given as SuccessOptions;
  return { cases: cases ?? null, optional: optional ?? [] };
}

/** A copy, so that later changes of the given object have no effect. */
function deeplyFrozen<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  const copy = Array.isArray(value)
    ? value.map(deeplyFrozen)
    : Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, deeplyFrozen(inner)]));
  return Object.freeze(copy) as Value;
}
