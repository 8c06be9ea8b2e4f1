/** `ctx.workflow`: what a handler may read about the run of its node. */
import type { Database } from "../../database/database.ts";
import type { NodeContext } from "../../define/node-context.ts";
import type { AnyContract, CodeOf, OutputOf } from "../../define/task.ts";
import type { Json } from "../../domain/json.ts";
import { nearestName } from "../../domain/nearest-name.ts";
import type { TaskResult } from "../../domain/result.ts";
import type { ClaimedNode } from "../../store/queries/claim/claim-rows.ts";
import type { NodeResults } from "../../store/queries/workflow/read-node-results.ts";

export function nodeContext(database: Database, claimed: ClaimedNode): NodeContext {
  const { workflowId, workflow, node, input } = claimed;
  const item = /\[(\d+)\]$/.exec(node);
  const read = async (asked: string, task: AnyContract): Promise<NodeResults> => {
    const { store, reads } = database;
    const found = await store.readNodeResults(reads, workflowId, asked);
    if (found.task === task.name) return found;
    throw new TypeError(wrongNode(claimed, asked, task, found));
  };
  return {
    id: workflowId,
    name: workflow,
    node: item === null ? node : node.slice(0, item.index),
    item: item === null ? undefined : Number(item[1]),
    input: input as Json,
    async resultFor<T extends AnyContract>(asked: string, task: T) {
      const { result } = await read(asked, task);
      return result as TaskResult<OutputOf<T>, CodeOf<T>> | null;
    },
    async resultsFor<T extends AnyContract>(asked: string, task: T) {
      const { items } = await read(asked, task);
      return items as readonly (TaskResult<OutputOf<T>, CodeOf<T>> | null)[];
    },
  };
}

function wrongNode(
  { workflow }: ClaimedNode,
  asked: string,
  { name }: AnyContract,
  { exists, task, ids }: NodeResults,
): string {
  if (exists) {
    const found = task === null ? "no task" : `the task "${task}"`;
    return `node "${asked}" of workflow "${workflow}" runs ${found}, not "${name}"`;
  }
  const nearest = nearestName(asked, ids);
  const hint = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
  return `workflow "${workflow}" has no node "${asked}"${hint}`;
}
