/** Runs and their nodes, as handles and operators see them. */
import type { AttemptInfo } from "../define/task-handle.ts";
import type {
  EarlierNode,
  NodeInfo,
  WorkflowInfo,
  WorkflowSummary,
} from "../define/workflow-run.ts";
import { PosthasteError } from "../domain/errors.ts";
import type { Json } from "../domain/json.ts";
import { nearestName } from "../domain/nearest-name.ts";
import { quoted } from "../domain/names.ts";
import type { TaskFailure, TaskResult } from "../domain/result.ts";
import type { NodeStatus, WorkflowStatus } from "../domain/workflow-lifecycle.ts";
import type { EarlierRow, NodeAttemptRow, NodeRow } from "../store/queries/read-nodes.ts";
import type { ListedRun, RunFilter } from "../store/queries/read-workflows.ts";
import type { Database } from "./database.ts";

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
  const [nodes, earlier, attempts] = await Promise.all([
    readNodes.nodes(database.reads, id),
    readNodes.earlier(database.reads, id),
    readNodes.attempts(database.reads, id),
  ]);
  // A run whose nodes are gone is a run all the same.
  if (nodes.length === 0 && (await readWorkflows.status(database.reads, id)) === undefined)
    throw runNotFound(id);
  const ofTask = attemptsByTask(attempts);
  return nodes.map((node) => nodeInfo(node, earlier, ofTask));
}

/** Of the nodes that have ended. */
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

/** What to say about a node that the run does not have. */
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
  const { id, name, version, key, startedAt, pausedAt, cancelRequestedAt, endedAt, rootId } = row;
  const { nodes: total, completed, failed, skipped, parentId, parentNode, parentItem } = row;
  return {
    id,
    name,
    version,
    status: row.status as WorkflowStatus,
    key,
    startedAt,
    pausedAt,
    cancelRequestedAt,
    endedAt,
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
    rootId,
  };
}

type AttemptsByTask = ReadonlyMap<string, readonly AttemptInfo[]>;

function nodeInfo(
  row: NodeRow,
  earlier: readonly EarlierRow[],
  attempts: AttemptsByTask,
): NodeInfo {
  const { id, task, taskId, runId, enqueuedAt, startedAt, endedAt } = row;
  const { isFanOut, items, itemsCompleted, itemsFailed } = row;
  return {
    id,
    kind: row.kind as NodeInfo["kind"],
    status: row.status as NodeStatus,
    task,
    taskId,
    runId,
    items: isFanOut ? { total: items, completed: itemsCompleted, failed: itemsFailed } : null,
    enqueuedAt,
    startedAt,
    endedAt,
    result: parsed(row.result) as TaskResult<Json> | null,
    attempts: attemptsOf(taskId, attempts),
    earlier: earlier.filter((was) => was.id === id).map((was) => earlierNode(was, attempts)),
  };
}

function earlierNode(row: EarlierRow, attempts: AttemptsByTask): EarlierNode {
  const { taskId, runId, endedAt } = row;
  return {
    status: row.status as NodeStatus,
    taskId,
    runId,
    endedAt,
    error: parsed(row.error) as TaskFailure | null,
    attempts: attemptsOf(taskId, attempts),
  };
}

function attemptsByTask(rows: readonly NodeAttemptRow[]): AttemptsByTask {
  const byTask = new Map<string, AttemptInfo[]>();
  for (const { taskId, error, ...facts } of rows) {
    const attempt = { ...facts, error: parsed(error) as TaskFailure | null };
    const known = byTask.get(taskId);
    if (known === undefined) byTask.set(taskId, [attempt]);
    else known.push(attempt);
  }
  return byTask;
}

function attemptsOf(taskId: string | null, attempts: AttemptsByTask): readonly AttemptInfo[] {
  return taskId === null ? [] : (attempts.get(taskId) ?? []);
}

function parsed(json: string | null): unknown {
  return json === null ? null : JSON.parse(json);
}
