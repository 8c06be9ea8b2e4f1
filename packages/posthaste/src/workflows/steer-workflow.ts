/** Pauses, resumes and cancels runs, and starts failed nodes over. */
import type { Database } from "../database/database.ts";
import { repeatSafely } from "../database/repeat-safely.ts";
import { PosthasteError } from "../domain/errors.ts";
import { describeRefusedRetry } from "../domain/retry-refusal.ts";
import { WorkflowStatus } from "../domain/workflow-lifecycle.ts";
import { emitTaskEvents } from "../hooks/emit-task-events.ts";
import type { HookRunner } from "../hooks/hook-runner.ts";
import type { RetryRefusal } from "../store/queries/workflow/steer-workflows.ts";
import { runNotFound, unknownNode } from "./read-workflow.ts";

/** False: it was not running. */
export function pauseWorkflow(database: Database, id: string): Promise<boolean> {
  return change(database, id, "pause", WorkflowStatus.PAUSED);
}

/** False: it was not paused. */
export function resumeWorkflow(database: Database, id: string): Promise<boolean> {
  return change(database, id, "resume", WorkflowStatus.RUNNING);
}

export async function cancelWorkflow(
  database: Database,
  hooks: HookRunner,
  id: string,
): Promise<"cancelled" | "requested" | "finished"> {
  const { store, workflows } = database;
  const { answer, tasks, ended } = await repeatSafely(async (tries) => {
    await database.ensureSchema();
    const reply = await store.steerWorkflows.cancel(workflows, id);
    if (reply === null) throw runNotFound(id);
    // The answer to an earlier try was lost; that try may be what ended it.
    const isOwn =
      reply.answer === "finished" &&
      tries > 0 &&
      (await store.readWorkflows.status(workflows, id)) === WorkflowStatus.CANCELLED;
    return isOwn ? { ...reply, answer: "cancelled" as const } : reply;
  });
  emitTaskEvents(database, hooks, { event: "taskCancelled", ids: tasks });
  await notifyWaitersOf(database, [...tasks, ...ended]);
  return answer;
}

/** Throws if they cannot be started over. */
export async function retryWorkflow(
  database: Database,
  id: string,
  nodes: readonly string[],
): Promise<void> {
  requireNodes(nodes);
  const { store, workflows } = database;
  const reply = await repeatSafely(async (tries) => {
    await database.ensureSchema();
    const answer = await store.steerWorkflows.retry(workflows, id, nodes);
    if (answer === null) throw runNotFound(id);
    // The answer to an earlier try was lost: the run goes on because of it.
    const isOwn =
      tries > 0 && answer.answer === "status" && answer.status === WorkflowStatus.RUNNING;
    return isOwn ? { answer: "retried" as const, ended: [] } : answer;
  });
  if (reply.answer !== "retried") throw await refused(database, id, reply);
  await notifyWaitersOf(database, reply.ended);
}

async function change(
  database: Database,
  id: string,
  how: "pause" | "resume",
  wanted: WorkflowStatus,
): Promise<boolean> {
  const { store, workflows } = database;
  const { changed, ended } = await repeatSafely(async (tries) => {
    await database.ensureSchema();
    const reply = await store.steerWorkflows[how](workflows, id);
    if (reply === null) throw runNotFound(id);
    if (reply.changed || tries === 0) return reply;
    // The answer to an earlier try was lost; that try may be what changed it.
    return { ...reply, changed: (await store.readWorkflows.status(workflows, id)) === wanted };
  });
  await notifyWaitersOf(database, ended);
  return changed;
}

/** After the commit: this also notifies waiters that registered meanwhile. */
async function notifyWaitersOf({ store, reads }: Database, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await repeatSafely(() => store.awaitResults.notify(reads, ids));
}

async function refused(
  database: Database,
  id: string,
  refusal: RetryRefusal,
): Promise<PosthasteError> {
  const what = "nothing was retried";
  if (refusal.answer === "unknown") return unknownNode(database, id, refusal.node, what);
  return PosthasteError.of("VALIDATION_FAILED", what, [
    { path: "", message: describeRefusedRetry(id, refusal) },
  ]);
}

function requireNodes(nodes: readonly unknown[]): void {
  if (nodes.length > 0 && nodes.every((node) => typeof node === "string")) return;
  throw PosthasteError.of("VALIDATION_FAILED", "nothing was retried", [
    { path: "nodes", message: "expected the id of a failed node, or a list of such ids" },
  ]);
}
