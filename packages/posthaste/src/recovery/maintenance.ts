/** The maintenance of a worker: the reaper, and the sweeper if enabled. */
import { workflowRounds } from "../workflows/recover-workflows.ts";
import { mayJudge, recovererOf, type ReaperOptions } from "./passes.ts";
import { Reaper } from "./reaper.ts";
import { recoverTasks } from "./recover-tasks.ts";
import { startSweeper } from "./sweeper.ts";
import { unknownTaskRounds } from "./unknown-tasks.ts";

export interface Maintenance {
  /** A worker was declared dead: recover its tasks now. */
  wake(): void;
  /** The deadline of a waiting task passes in `ms`: end it then, not in the next round. */
  expireIn(ms: number): void;
  /** Puts tasks back whose lease is over. For workers that fetch ahead, and look more often than there are rounds. */
  releaseLapsed(): Promise<void>;
  stop(): Promise<void>;
}

export interface MaintenanceOptions extends ReaperOptions {
  readonly unknownTaskGraceMs: number;
}

export function startMaintenance(options: MaintenanceOptions): Maintenance {
  const { workerRecovery, database, log, unknownTaskGraceMs: graceMs } = options;
  const reaper = new Reaper({
    endUnknown: unknownTaskRounds({ ...options, graceMs }),
    reconcile: workflowRounds(database, log),
    ...options,
  });
  const sweeper = workerRecovery.enabled
    ? startSweeper({
        recoverer: recovererOf(options),
        workerRecovery,
        mayJudge: (thresholdMs) => mayJudge(options, thresholdMs),
      })
    : undefined;
  return {
    wake: () => reaper.wake(),
    expireIn: (ms) => reaper.expireIn(ms),
    async releaseLapsed() {
      if (mayJudge(options, options.recovery.claimedStaleThresholdMs))
        await recoverTasks(recovererOf(options), { cause: "lease expired" });
    },
    async stop() {
      await Promise.all([reaper.stop(), sweeper?.stop()]);
    },
  };
}
