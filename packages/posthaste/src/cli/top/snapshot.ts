/** Everything that `top` shows, as of one moment. */
import type { QueueInfo, RecoveryInfo, WorkerInfo } from "../../admin/admin.ts";
import type { Activity } from "../../app/activity.ts";
import { appFacts } from "../../app/app-facts.ts";
import type { Posthaste } from "../../app/posthaste.ts";
import type { WorkflowSummary } from "../../define/workflow-run.ts";
import { isAlive } from "../workers-command.ts";

export interface Snapshot {
  readonly takenAt: Date;
  readonly queues: readonly QueueInfo[];
  /** Living ones. */
  readonly workers: readonly WorkerInfo[];
  readonly failures: Activity["failures"];
  readonly recoveries: readonly RecoveryInfo[];
  readonly runs: readonly WorkflowSummary[];
  readonly samples: Activity["samples"];
  readonly counters: Activity["counters"];
}

/** There may be more. */
export const MOST_ROWS = 100;

/** Only reads. */
export async function takeSnapshot(app: Posthaste): Promise<Snapshot> {
  const { queues, workers, recoveries, workflows } = app.admin;
  const [listedQueues, listedWorkers, listedRecoveries, runs, activity] = await Promise.all([
    queues.list(),
    workers.list(),
    recoveries.list({ limit: MOST_ROWS }),
    workflows.list({ limit: MOST_ROWS }),
    appFacts(app).readActivity(),
  ]);
  return {
    takenAt: new Date(),
    queues: listedQueues,
    workers: listedWorkers.filter(isAlive),
    recoveries: listedRecoveries,
    runs,
    ...activity,
  };
}
