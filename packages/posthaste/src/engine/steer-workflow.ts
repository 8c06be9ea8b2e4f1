/** Pauses, resumes and cancels runs, and starts failed nodes over. */
import { PosthasteError } from "../domain/errors.ts";
import { describeRefusedRetry } from "../domain/retry-refusal.ts";
import { WorkflowStatus } from "../domain/workflow-lifecycle.ts";
import type { RetryRefusal } from "../store/queries/steer-workflows.ts";
import { announceTasks } from "./announce-tasks.ts";
import type { Database } from "./database.ts";
import type { HookRunner } from "./hooks.ts";
import { runNotFound, unknownNode } from "./read-workflow.ts";
import { repeatSafely } from "./repeat-safely.ts";

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
  const { answer, tasks, ended } = await repeatSafely(async (attempt) => {
    await database.ensureSchema();
    const reply = await store.steerWorkflows.cancel(workflows, id);
    if (reply === null) throw runNotFound(id);
    // The answer to an earlier try was lost; that try may be what ended it.
    const isOwn =
      reply.answer === "finished" &&
      attempt > 0 &&
      (await store.readWorkflows.status(workflows, id)) === WorkflowStatus.CANCELLED;
    return isOwn ? { ...reply, answer: "cancelled" as const } : reply;
  });
  announceTasks(database, hooks, { event: "taskCancelled", ids: tasks });
  await tellWaiters(database, [...tasks, ...ended]);
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
  const reply = await repeatSafely(async (attempt) => {
    await database.ensureSchema();
    const said = await store.steerWorkflows.retry(workflows, id, nodes);
    if (said === null) throw runNotFound(id);
    // The answer to an earlier try was lost: the run goes on because of it.
    const isOwn = attempt > 0 && said.answer === "status" && said.status === WorkflowStatus.RUNNING;
    return isOwn ? { answer: "retried" as const, ended: [] } : said;
  });
  if (reply.answer !== "retried") throw await refused(database, id, reply);
  await tellWaiters(database, reply.ended);
}

async function change(
  database: Database,
  id: string,
  how: "pause" | "resume",
  wanted: WorkflowStatus,
): Promise<boolean> {
  const { store, workflows } = database;
  const { changed, ended } = await repeatSafely(async (attempt) => {
    await database.ensureSchema();
    const reply = await store.steerWorkflows[how](workflows, id);
    if (reply === null) throw runNotFound(id);
    if (reply.changed || attempt === 0) return reply;
    // The answer to an earlier try was lost; that try may be what changed it.
    return { ...reply, changed: (await store.readWorkflows.status(workflows, id)) === wanted };
  });
  await tellWaiters(database, ended);
  return changed;
}

/** Behind the commit: whoever registered while it was being made is told now. */
async function tellWaiters({ store, reads }: Database, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await repeatSafely(() => store.awaitResults.notify(reads, ids));
}

async function refused(
  database: Database,
  id: string,
  refusal: RetryRefusal,
): Promise<PosthasteError> {
  const what = "nothing was started over";
  if (refusal.answer === "unknown") return unknownNode(database, id, refusal.node, what);
  return PosthasteError.of("VALIDATION_FAILED", what, [
    { path: "", message: describeRefusedRetry(id, refusal) },
  ]);
}

function requireNodes(nodes: readonly unknown[]): void {
  if (nodes.length > 0 && nodes.every((node) => typeof node === "string")) return;
  throw PosthasteError.of("VALIDATION_FAILED", "nothing was started over", [
    { path: "nodes", message: "expected the ids of the failed nodes, one or several" },
  ]);
}
