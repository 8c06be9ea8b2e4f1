/** Inputs of nodes, as far as they are known before a run: does the task's schema take them? */
import type { Problem } from "../domain/errors.ts";
import { valuePath } from "../domain/value-path.ts";
import type { Filled, GraphNode } from "../domain/workflow-graph.ts";
import { validateStored } from "./schema.ts";
import { coded, type WorkflowProblem } from "./workflow-problem.ts";
import { at, withNested } from "./workflow-rules.ts";
import type { AnyWorkflow } from "./workflow.ts";

/**
 * Asks the schemas, which may take its time. Not when a workflow is defined: a schema may look something up, and a
 * definition does nothing.
 */
export async function refusedInputs(
  workflows: readonly AnyWorkflow[],
): Promise<readonly WorkflowProblem[]> {
  const found: WorkflowProblem[] = [];
  for (const workflow of withNested(workflows)) {
    if (workflow.problems.length > 0) continue; // a part that is missing would be refused once more
    for (const node of workflow.graph.nodes) {
      found.push(...at(workflow.name, await refusedInput(node, workflow)));
    }
  }
  return found;
}

async function refusedInput(
  node: GraphNode,
  { tasks }: AnyWorkflow,
): Promise<readonly WorkflowProblem[]> {
  if (!("task" in node)) return [];
  const task = tasks.find(({ name }) => name === node.task);
  const checked = await validateStored(task?.input, node.input.template);
  if (checked.ok) return [];
  const path = `${valuePath(["nodes", node.id])}.input`;
  return coded(
    "INPUT_REFUSED",
    path,
    checked.problems.filter((problem) => isAboutKnown(problem, node.input)),
  );
}

/**
 * In the template null stands in place of refs, and the schema may refuse null. So only problems beside the refs count: not of a ref, a
 * part of one, or a value with a ref in it.
 */
function isAboutKnown({ path }: Problem, { holes }: Filled): boolean {
  return holes.every((hole) => {
    const ref = valuePath(hole.path);
    return !isWithin(path, ref) && !isWithin(ref, path);
  });
}

function isWithin(inner: string, outer: string): boolean {
  if (outer === "" || inner === outer) return true;
  return inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
}
