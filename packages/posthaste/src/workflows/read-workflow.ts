/** Runs and their nodes, as handles and operators see them. */
import type { Database } from "../database/database.ts";
import type {
  EarlierNode,
  NodeInfo,
  WorkflowInfo,
  WorkflowSummary,
} from "../define/workflow-run.ts";
import { PosthasteError } from "../domain/errors.ts";
import type { Json } from "../domain/json.ts";
import { quoted } from "../domain/names.ts";
import { nearestName } from "../domain/nearest-name.ts";
import type { TaskFailure, TaskResult } from "../domain/result.ts";
import type { WorkflowGraph } from "../domain/workflow-graph.ts";
import type { NodeStatus, WorkflowStatus } from "../domain/workflow-lifecycle.ts";
import type { NodeRow } from "../store/queries/workflow/read-nodes.ts";
import type { ListedRun, RunFilter } from "../store/queries/workflow/read-workflows.ts";

export async function readWorkflowStatus(database: Database, id: string): Promise<WorkflowStatus> {
  await database.ensureSchema();
  const status = await database.store.readWorkflows.status(database.reads, id);
  if (status === undefined) throw runNotFound(id);
  return status as WorkflowStatus;
}

export async function readWorkflowInfo(database: Database, id: string): Promise<WorkflowInfo> {
  await database.ensureSchema();
  const row = await database.store.readWorkflows.run(database.reads, id);
  if (row === undefined) throw runNotFound(id);
  return { ...summary(row), input: JSON.parse(row.input) as Json };
}

export async function readWorkflowGraph(database: Database, id: string): Promise<WorkflowGraph> {
  await database.ensureSchema();
  const graph = await database.store.readGraph(database.reads, id);
  if (graph === undefined) throw runNotFound(id);
  return graph;
}

export async function listWorkflows(
  database: Database,
  filter: RunFilter,
): Promise<WorkflowSummary[]> {
  await database.ensureSchema();
  return (await database.store.readWorkflows.list(database.reads, filter)).map(summary);
}

export async function readWorkflowNodes(database: Database, id: string): Promise<NodeInfo[]> {
  await database.ensureSchema();
  const { readNodes, readWorkflows } = database.store;
  const nodes = await readNodes.nodes(database.reads, id);
  // A run whose nodes are gone is a run all the same.
  if (nodes.length === 0 && (await readWorkflows.status(database.reads, id)) === undefined)
    throw runNotFound(id);
  return nodes.map(nodeInfo);
}

/** The results of the ended nodes. */
export async function readNodeResults(
  database: Database,
  id: string,
): Promise<Record<string, TaskResult<unknown>>> {
  await database.ensureSchema();
  const rows = await database.store.readNodes.results(database.reads, id, null);
  if (rows.length === 0) await readWorkflowStatus(database, id); // throws if there is no such run
  const ended = rows.flatMap(({ node, result }) =>
    result === null ? [] : [[node, JSON.parse(result) as TaskResult<unknown>] as const],
  );
  return Object.fromEntries(ended);
}

/** Null: it has not ended. */
export async function readNodeResult(
  database: Database,
  id: string,
  node: string,
): Promise<TaskResult<unknown> | null> {
  await database.ensureSchema();
  const [row] = await database.store.readNodes.results(database.reads, id, [node]);
  if (row !== undefined)
    return row.result === null ? null : (JSON.parse(row.result) as TaskResult<unknown>);
  throw await unknownNode(database, id, node, "there is no result to read");
}

/** The error for a node that the run does not have. */
export async function unknownNode(
  database: Database,
  id: string,
  node: string,
  what: string,
): Promise<PosthasteError> {
  const known = await database.store.readNodes.ids(database.reads, id);
  if (known.length === 0) return runNotFound(id);
  const nearest = nearestName(node, known);
  const hint =
    nearest === undefined ? `its nodes are ${known.join(", ")}` : `did you mean "${nearest}"?`;
  return PosthasteError.of("VALIDATION_FAILED", what, [
    { path: "node", message: `run ${id} has no node ${quoted(node)}; ${hint}` },
  ]);
}

export function runNotFound(id: string): PosthasteError {
  return new PosthasteError(
    "WORKFLOW_NOT_FOUND",
    `there is no run ${id}: it was never started, its transaction has not committed, it was pruned, ` +
      "or a failover or restore has lost it",
  );
}

function summary(row: ListedRun): WorkflowSummary {
  const { graphId: _, nodes: total, completed, failed, skipped, ...others } = row;
  const { parentId, parentNode, parentItem, ...facts } = others;
  return {
    ...facts,
    status: row.status as WorkflowStatus,
    counts: { total, open: total - completed - failed - skipped, completed, failed, skipped },
    error: parsed(row.error) as TaskFailure | null,
    parent:
      parentId === null
        ? null
        : {
            id: parentId,
            node: parentNode ?? "",
            item: parentItem === null || parentItem < 0 ? null : parentItem,
          },
  };
}

function nodeInfo(row: NodeRow): NodeInfo {
  const { isFanOut, items, itemsCompleted, itemsFailed, ...facts } = row;
  return {
    ...facts,
    kind: row.kind as NodeInfo["kind"],
    status: row.status as NodeStatus,
    items: isFanOut ? { total: items, completed: itemsCompleted, failed: itemsFailed } : null,
    result: parsed(row.result) as TaskResult<Json> | null,
    earlier: row.earlier as readonly EarlierNode[],
  };
}

function parsed(json: string | null): unknown {
  return json === null ? null : JSON.parse(json);
}
