/** What runs beside every worker: the reaper, and the sweeper where it is enabled. */
import { recoverTasks } from "../engine/recover-tasks.ts";
import { workflowRounds } from "../engine/recover-workflows.ts";
import { recovererOf, type ReaperOptions } from "./passes.ts";
import { Reaper } from "./reaper.ts";
import { startSweeper } from "./sweeper.ts";

export interface Maintenance {
  /** A worker was declared dead: what it held is recovered now. */
  wake(): void;
  /** Puts tasks back whose lease is over. For workers that fetch ahead, and look more often than there are rounds. */
  releaseLapsed(): Promise<void>;
  stop(): Promise<void>;
}

export function startMaintenance(options: ReaperOptions): Maintenance {
  const { workerRecovery, database, log } = options;
  const reaper = new Reaper({ reconcile: workflowRounds(database, log), ...options });
  const sweeper = workerRecovery.enabled
    ? startSweeper({ recoverer: recovererOf(options), workerRecovery })
    : undefined;
  return {
    wake: () => reaper.wake(),
    async releaseLapsed() {
      await recoverTasks(recovererOf(options), { cause: "lease expired" });
    },
    async stop() {
      await Promise.all([reaper.stop(), sweeper?.stop()]);
    },
  };
}
