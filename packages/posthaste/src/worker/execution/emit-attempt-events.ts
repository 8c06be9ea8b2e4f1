/** Writes how attempts started and ended to the log, and calls the hooks, once the database has stored it. */
import type { RunEndEvent, RunEvent } from "../../define/hooks.ts";
import type { TaskFailure } from "../../domain/result.ts";
import { taskLifecycle, TaskStatus } from "../../domain/task-lifecycle.ts";
import { emitTaskEvents } from "../../hooks/emit-task-events.ts";
import type { Connection } from "../../store/connection.ts";
import type { ClaimedTask } from "../../store/queries/claim/claim-tasks.ts";
import type { SettleReply } from "../../store/queries/settle/settle-tasks.ts";
import type { AttemptServices } from "./attempt-services.ts";
import type { EndedTask } from "./ended-task.ts";

type Services = Pick<AttemptServices, "database" | "hooks" | "taskLog">;

export function attemptEvent(
  { id, name, queue, attemptNo }: ClaimedTask,
  workerId: string,
): RunEvent {
  return { id, name, queue, attempt: attemptNo, workerId };
}

export function emitStart({ hooks, taskLog, workerId }: AttemptServices, task: ClaimedTask): void {
  taskLog.began(task);
  hooks.emit.taskStarted?.(attemptEvent(task, workerId));
}

/** The end of an attempt whose own transaction completed the task. */
export function emitCompletion({ hooks, taskLog }: Services, event: () => RunEndEvent): void {
  hooks.emit.taskCompleted?.(event());
  if (taskLog.writesAll) taskLog.completed(event());
}

/** If some claims were not found, it is not known which: `emitStoredEnds` reports these ends. */
export function emitEnds(services: Services, ends: readonly EndedTask[], reply: SettleReply): void {
  if (reply.settled !== ends.length) return;
  const reported = ends.filter(isReported(services, reply.overridden.length > 0));
  if (reported.length === 0) return;
  const overridden = new Map(reply.overridden.map(({ id, status }) => [id, status]));
  for (const end of reported)
    emitEnd(services, end, overridden.get(end.id) ?? taskLifecycle[end.edge].to);
}

/** Ends that an earlier try may have written: those whose claim is stored with the status that it led to. */
export function emitStoredEnds(
  services: Services,
  ends: readonly EndedTask[],
  statuses: ReadonlyMap<string, string>,
): void {
  for (const end of ends.filter(isReported(services, false))) {
    const status = statuses.get(end.id);
    if (status !== undefined) emitEnd(services, end, status);
  }
}

/** Tasks that a claim or a start has ended because their deadline had passed. */
export function reportExpired(
  services: Services & Pick<AttemptServices, "log" | "rollups">,
  connection: Connection,
  ids: readonly string[],
): void {
  if (ids.length === 0) return;
  const { database, hooks, taskLog, rollups } = services;
  notifyWaiters(services, connection, ids);
  emitTaskEvents(database, hooks, {
    event: "taskExpired",
    ids,
    onDescribed: (tasks) => {
      rollups.expired(tasks);
      taskLog.expired(tasks);
    },
  });
}

/** A success is reported only if a hook or the level `debug` asks for it. Otherwise it costs nothing. */
function isReported(
  { hooks, taskLog }: Services,
  isAnyOverridden: boolean,
): (end: EndedTask) => boolean {
  const all = hooks.observesEnds || taskLog.writesAll || isAnyOverridden;
  return ({ edge }) => all || edge !== "succeed";
}

function emitEnd(services: Services, end: EndedTask, status: string): void {
  const { database, hooks, taskLog } = services;
  const { event, edge, delayMs = 0 } = end;
  taskLog.ended(end, status);
  const { emit } = hooks;
  if (event === undefined) {
    // The handler did not run: the task was released and found cancelled, or is a node that was claimed after its deadline.
    const ids = [end.id];
    if (status === TaskStatus.CANCELLED)
      emitTaskEvents(database, hooks, {
        event: "taskCancelled",
        ids,
        onDescribed: (tasks) => taskLog.cancelled(tasks),
      });
    if (status === TaskStatus.EXPIRED)
      emitTaskEvents(database, hooks, {
        event: "taskExpired",
        ids,
        onDescribed: (tasks) => taskLog.expired(tasks),
      });
    return;
  }
  const { id, name, queue } = event;
  if (status === TaskStatus.COMPLETED) emit.taskCompleted?.(event);
  else if (status === TaskStatus.FAILED) emit.taskFailed?.({ ...event, error: errorOf(end) });
  else if (status === TaskStatus.CANCELLED) emit.taskCancelled?.({ id, name, queue });
  else if (edge === "retry") emit.taskRetried?.({ ...event, error: errorOf(end), delayMs });
}

/** The error as it was stored. */
function errorOf({ error = "null" }: EndedTask): TaskFailure {
  return JSON.parse(error) as TaskFailure;
}

/** Sends the notification behind a commit, on the session of that commit. A waiter that misses it polls. */
export function notifyWaiters(
  { database, log }: Pick<AttemptServices, "database" | "log">,
  connection: Connection,
  ids: readonly string[],
): void {
  if (ids.length === 0) return;
  database.store.awaitResults.notify(connection, ids).catch((error: unknown) => {
    log.debug(
      { error: String(error) },
      "could not notify callers that wait for results; they poll",
    );
  });
}
