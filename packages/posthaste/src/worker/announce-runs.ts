/** Tells hooks what became of tasks, once it is written. */
import type { RunEvent } from "../define/hooks.ts";
import type { TaskFailure } from "../domain/result.ts";
import { taskLifecycle, TaskStatus } from "../domain/task-lifecycle.ts";
import { announceTasks } from "../engine/announce-tasks.ts";
import { tellWaiters } from "../engine/work-cycle.ts";
import type { Connection } from "../store/connection.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import type { SettleReply } from "../store/queries/settle-tasks.ts";
import type { EndedTask } from "./held-tasks.ts";
import type { RunServices } from "./run-services.ts";

type Services = Pick<RunServices, "database" | "hooks">;

export function runEvent({ id, name, queue, runNo }: ClaimedTask, workerId: string): RunEvent {
  return { id, name, queue, attempt: runNo, workerId };
}

/**
 * Right behind the commit, so that the end of an attempt is told before the start of the next, which the same commit may
 * have claimed. Where not all of the claims were found, nobody knows yet which: then it is up to `announceFound`.
 */
export function announceEnds(
  services: Services,
  settles: readonly EndedTask[],
  reply: SettleReply,
): void {
  if (!services.hooks.observesEnds || reply.settled !== settles.length) return;
  const otherwise = new Map(reply.overridden.map(({ id, status }) => [id, status]));
  for (const ended of settles)
    announceEnd(services, ended, otherwise.get(ended.id) ?? taskLifecycle[ended.edge].to);
}

/** Of ends that may have been written by an earlier try: those whose claim is found in what is stored. */
export function announceFound(
  services: Services,
  settles: readonly EndedTask[],
  stored: ReadonlyMap<string, string>,
): void {
  if (!services.hooks.observesEnds) return;
  for (const ended of settles) {
    const status = stored.get(ended.id);
    if (status !== undefined) announceEnd(services, ended, status);
  }
}

/** Of tasks whose deadline was found to have passed: those who wait, and hooks. */
export function announceExpired(
  { database, hooks }: Services,
  connection: Connection,
  ids: readonly string[],
  onNotifyError: (error: unknown) => void,
): void {
  tellWaiters(database.store, connection, ids, onNotifyError);
  announceTasks(database, hooks, "taskExpired", ids);
}

function announceEnd({ database, hooks }: Services, ended: EndedTask, status: string): void {
  const { event, edge, delayMs = 0 } = ended;
  const { emit } = hooks;
  if (event === undefined) {
    // Given back, and found cancelled.
    if (status === TaskStatus.CANCELLED)
      announceTasks(database, hooks, "taskCancelled", [ended.id]);
    return;
  }
  const { id, name, queue } = event;
  if (status === TaskStatus.COMPLETED) emit.taskCompleted?.(event);
  else if (status === TaskStatus.FAILED) emit.taskFailed?.({ ...event, error: errorOf(ended) });
  else if (status === TaskStatus.CANCELLED) emit.taskCancelled?.({ id, name, queue });
  else if (edge === "retry") emit.taskRetried?.({ ...event, error: errorOf(ended), delayMs });
}

/** As it was stored. */
function errorOf({ error = "null" }: EndedTask): TaskFailure {
  return JSON.parse(error) as TaskFailure;
}
