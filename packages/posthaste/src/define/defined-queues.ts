import { DEFAULT_QUEUE } from "../config/config.ts";
import type { AnyContract } from "./task.ts";
import { withNested } from "./workflow-rules.ts";
import type { AnyWorkflow } from "./workflow.ts";

/** The queues that definitions name, those of a workflow's nodes included. */
export function definedQueues(
  tasks: readonly AnyContract[],
  workflows: readonly AnyWorkflow[],
): readonly string[] {
  const ofNodes = withNested(workflows).flatMap(({ graph }) =>
    graph.nodes.flatMap((node) => ("task" in node ? [node.queue ?? DEFAULT_QUEUE] : [])),
  );
  const ofTasks = tasks.map(({ queue }) => queue ?? DEFAULT_QUEUE);
  return [...new Set([...ofTasks, ...ofNodes])].toSorted();
}
