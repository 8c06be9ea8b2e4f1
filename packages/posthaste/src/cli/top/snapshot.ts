/** Everything that `top` shows, as of one moment. */
import type {
  QueueInfo,
  RecoveryInfo,
  ScheduleInfo,
  TaskSummary,
  WorkerInfo,
} from "../../admin/admin.ts";
import type { Activity } from "../../app/activity.ts";
import { appFacts } from "../../app/app-facts.ts";
import type { Posthaste } from "../../app/posthaste.ts";
import type { WorkflowSummary } from "../../define/workflow-run.ts";
import { TaskStatus } from "../../domain/task-lifecycle.ts";
import { isAlive } from "../workers-command.ts";

export interface Snapshot {
  readonly takenAt: Date;
  readonly queues: readonly QueueInfo[];
  /** Living ones. */
  readonly workers: readonly WorkerInfo[];
  /** FAILED tasks, newest first. */
  readonly failures: readonly TaskSummary[];
  readonly recoveries: readonly RecoveryInfo[];
  readonly runs: readonly WorkflowSummary[];
  /** The next one to fire first. */
  readonly schedules: readonly ScheduleInfo[];
  readonly samples: Activity["samples"];
  readonly counters: Activity["counters"];
}

/** There may be more. */
export const MOST_ROWS = 100;

/** Only reads. */
export async function takeSnapshot(app: Posthaste): Promise<Snapshot> {
  const { queues, workers, tasks, recoveries, workflows, schedules } = app.admin;
  const [listedQueues, listedWorkers, failed, listedRecoveries, runs, planned, activity] =
    await Promise.all([
      queues.list(),
      workers.list(),
      tasks.list({ status: TaskStatus.FAILED, limit: MOST_ROWS }),
      recoveries.list({ limit: MOST_ROWS }),
      workflows.list({ limit: MOST_ROWS }),
      schedules.list(),
      appFacts(app).readActivity(),
    ]);
  return {
    takenAt: new Date(),
    queues: listedQueues,
    workers: listedWorkers.filter(isAlive),
    failures: failed.tasks,
    recoveries: listedRecoveries,
    runs,
    schedules: planned.toSorted((a, b) => timeOf(a) - timeOf(b)).slice(0, MOST_ROWS),
    ...activity,
  };
}

function timeOf({ nextSlot }: ScheduleInfo): number {
  return nextSlot?.getTime() ?? Infinity;
}
