/** Tells the log and hooks what became of tasks, once it is written. */
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

type Services = Pick<RunServices, "database" | "hooks" | "taskLog">;

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
  if (reply.settled !== settles.length) return;
  const told = settles.filter(isTold(services, reply.overridden.length > 0));
  if (told.length === 0) return;
  const otherwise = new Map(reply.overridden.map(({ id, status }) => [id, status]));
  for (const ended of told)
    announceEnd(services, ended, otherwise.get(ended.id) ?? taskLifecycle[ended.edge].to);
}

/** A success is told only where a hook or `debug` wants it, so that it costs nothing elsewhere. */
function isTold(
  { hooks, taskLog }: Services,
  isAnyOverridden: boolean,
): (ended: EndedTask) => boolean {
  const all = hooks.observesEnds || taskLog.writesAll || isAnyOverridden;
  return ({ edge }) => all || edge !== "succeed";
}

/** Of ends that may have been written by an earlier try: those whose claim is found in what is stored. */
export function announceFound(
  services: Services,
  settles: readonly EndedTask[],
  stored: ReadonlyMap<string, string>,
): void {
  for (const ended of settles.filter(isTold(services, false))) {
    const status = stored.get(ended.id);
    if (status !== undefined) announceEnd(services, ended, status);
  }
}

/** Of tasks whose deadline was found to have passed: those who wait, and hooks. */
export function announceExpired(
  { database, hooks, taskLog }: Services,
  connection: Connection,
  ids: readonly string[],
  onNotifyError: (error: unknown) => void,
): void {
  if (ids.length === 0) return;
  tellWaiters(database.store, connection, ids, onNotifyError);
  announceTasks(database, hooks, {
    event: "taskExpired",
    ids,
    onDescribed: (tasks) => taskLog.expired(tasks),
  });
}

function announceEnd(services: Services, ended: EndedTask, status: string): void {
  const { database, hooks, taskLog } = services;
  const { event, edge, delayMs = 0 } = ended;
  taskLog.ended(ended, status);
  const { emit } = hooks;
  if (event === undefined) {
    // Given back, and found cancelled.
    if (status === TaskStatus.CANCELLED)
      announceTasks(database, hooks, {
        event: "taskCancelled",
        ids: [ended.id],
        onDescribed: (tasks) => taskLog.cancelled(tasks),
      });
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
