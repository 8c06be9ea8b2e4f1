/** The timeline of a task: every moment that is stored about it, in order, for operators. */
import type { Database } from "../database/database.ts";
import { repeatSafely } from "../database/repeat-safely.ts";
import type { TaskInfo } from "../define/task-handle.ts";
import type { Json } from "../domain/json.ts";
import type { AttemptInfo, TaskFailure, TaskRetry } from "../domain/result.ts";
import { isTerminal, TaskStatus } from "../domain/task-lifecycle.ts";
import { requireUuid } from "../sending/uuid-v7.ts";
import type { HeartbeatSpan, StoredTimeline } from "../store/queries/read/read-timeline.ts";
import type { RecoveryInfo } from "../store/queries/recover/list-recoveries.ts";
import { notFound, readTaskInfo } from "../waiting/read-task-info.ts";

export type { HeartbeatSpan };

export interface TimelineEvent {
  readonly at: Date;
  readonly event:
    | "sent"
    | "due"
    | "claimed"
    | "started"
    | "heartbeats"
    | "attempt ended"
    | "recovered"
    | "cancel requested"
    | "ended"
    | "retried";
  /** Null: it belongs to no attempt. */
  readonly attempt: number | null;
  readonly workerId: string | null;
  /** For people. */
  readonly detail: string;
}

export interface TaskTimeline extends TaskInfo {
  readonly key: string | null;
  /** The run and the node that it belongs to. */
  readonly node: { readonly workflowId: string; readonly id: string } | null;
  readonly input: Json;
  /** Null: it has not succeeded. */
  readonly result: Json | null;
  readonly error: TaskFailure | null;
  readonly cancelRequestedAt: Date | null;
  readonly finishedAt: Date | null;
  /** The heartbeats of each claim that lasted long enough to have some, as long as retention keeps them. */
  readonly heartbeats: readonly HeartbeatSpan[];
  /** Newest first. */
  readonly recoveries: readonly RecoveryInfo[];
  /** Oldest first. */
  readonly events: readonly TimelineEvent[];
}

/** A task that was recovered more often than this has a problem that its last recoveries show. */
const MOST_RECOVERIES = 1_000;

/** Throws TASK_NOT_FOUND if there is no such task. */
export async function readTaskTimeline(database: Database, id: string): Promise<TaskTimeline> {
  const wanted = requireUuid(id);
  const { store, reads } = database;
  return repeatSafely(async () => {
    await database.ensureSchema();
    const [task, stored, heartbeats, recoveries] = await Promise.all([
      readTaskInfo(database, wanted),
      store.readTimeline.facts(reads, wanted),
      store.readTimeline.heartbeats(reads, wanted),
      store.listRecoveries(reads, MOST_RECOVERIES, wanted),
    ]);
    if (stored === undefined) throw notFound(wanted);
    const { workflowId, node, input, result, error, firstDueAt: _, ...facts } = stored;
    return {
      ...task,
      ...facts,
      node: workflowId === null || node === null ? null : { workflowId, id: node },
      input: JSON.parse(input ?? "null") as Json,
      result: JSON.parse(result ?? "null") as Json,
      error: JSON.parse(error ?? "null") as TaskFailure | null,
      heartbeats,
      recoveries,
      events: timelineEvents({ task, stored, heartbeats, recoveries }),
    };
  });
}

export interface TimelineFacts {
  readonly task: TaskInfo;
  readonly stored: Pick<StoredTimeline, "firstDueAt" | "cancelRequestedAt" | "finishedAt">;
  readonly heartbeats: readonly HeartbeatSpan[];
  readonly recoveries: readonly RecoveryInfo[];
}

type Draft = Omit<TimelineEvent, "attempt" | "workerId"> &
  Partial<Pick<TimelineEvent, "attempt" | "workerId">>;

export function timelineEvents(facts: TimelineFacts): TimelineEvent[] {
  const { task, stored, heartbeats, recoveries } = facts;
  const drafts: Draft[] = [
    { at: task.sentAt, event: "sent", detail: `to queue ${task.queue}, priority ${task.priority}` },
    ...(stored.firstDueAt === null
      ? []
      : [{ at: stored.firstDueAt, event: "due", detail: "for the first time" } as const]),
    ...claimOf(task),
    ...task.attempts.flatMap(attemptEvents),
    ...heartbeats.map(heartbeatEvent),
    ...recoveries.map(recoveryEvent),
    ...(stored.cancelRequestedAt === null
      ? []
      : [{ at: stored.cancelRequestedAt, event: "cancel requested", detail: "" } as const]),
    ...task.retries.flatMap(retryEvents),
    ...dueAgain(task),
    ...endOf(task, stored.finishedAt),
  ];
  return drafts
    .map((draft) => ({ attempt: null, workerId: null, ...draft }))
    .toSorted((a, b) => a.at.getTime() - b.at.getTime());
}

/** Only the last claim is stored; one that started at once is no event of its own. */
function claimOf({ claimedAt, startedAt, worker }: TaskInfo): Draft[] {
  if (claimedAt === null || claimedAt.getTime() === startedAt?.getTime()) return [];
  return [{ at: claimedAt, event: "claimed", workerId: worker?.id ?? null, detail: "" }];
}

function attemptEvents(made: AttemptInfo): Draft[] {
  const { attempt, workerId, startedAt, finishedAt, outcome, error, errorCode, willRetry } = made;
  const started: Draft = { at: startedAt, event: "started", attempt, workerId, detail: "" };
  if (finishedAt === null) return [started];
  const failure = errorCode === null ? "" : `: ${errorCode}${error ? `, ${error.message}` : ""}`;
  const detail = `${outcome}${failure}${willRetry ? "; retried" : ""}`;
  return [started, { at: finishedAt, event: "attempt ended", attempt, workerId, detail }];
}

function heartbeatEvent({ count, firstAt, lastAt, longestGapMs, workerId }: HeartbeatSpan): Draft {
  const gap = longestGapMs === null ? "" : `, longest gap ${seconds(longestGapMs)} s`;
  const length = seconds(lastAt.getTime() - firstAt.getTime());
  const detail = count === 1 ? "1" : `${count} in ${length} s${gap}`;
  return { at: firstAt, event: "heartbeats", workerId, detail };
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}

function recoveryEvent(recovery: RecoveryInfo): Draft {
  const { recoveredAt, workerId, attempt, reason, decision, recoveredBy } = recovery;
  const by = recoveredBy === "admin" ? "an operator" : `worker ${recoveredBy}`;
  return {
    at: recoveredAt,
    event: "recovered",
    attempt,
    workerId,
    detail: `${reason}; ${decision}, decided by ${by}`,
  };
}

/** An operator took an end back. */
function retryEvents(retry: TaskRetry): Draft[] {
  const { status, finishedAt, errorCode, retriedAt, retriedBy } = retry;
  return [
    { at: finishedAt, event: "ended", detail: `${status}: ${errorCode}` },
    { at: retriedAt, event: "retried", detail: `by ${retriedBy}` },
  ];
}

/** Where it waits now, unless that is the place that it was sent to. */
function dueAgain({ status, enqueuedAt, retryCount, attempts }: TaskInfo): Draft[] {
  if (status !== TaskStatus.PENDING || attempts.length === 0) return [];
  const detail = retryCount > 0 ? `retry ${retryCount}` : "again";
  return [{ at: enqueuedAt, event: "due", detail }];
}

function endOf({ status, errorCode }: TaskInfo, finishedAt: Date | null): Draft[] {
  if (finishedAt === null || !isTerminal(status)) return [];
  const detail = errorCode === null ? status : `${status}: ${errorCode}`;
  return [{ at: finishedAt, event: "ended", detail }];
}
