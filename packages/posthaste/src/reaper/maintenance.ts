/** What runs beside every worker: the reaper, and the sweeper where it is enabled. */
import { recovererOf, type ReaperOptions } from "./passes.ts";
import { Reaper } from "./reaper.ts";
import { startSweeper } from "./sweeper.ts";

export interface Maintenance {
  /** A worker was declared dead: what it held is recovered now. */
  wake(): void;
  stop(): Promise<void>;
}

export function startMaintenance(options: ReaperOptions): Maintenance {
  const { workerRecovery } = options;
  const reaper = new Reaper(options);
  const sweeper = workerRecovery.enabled
    ? startSweeper({ recoverer: recovererOf(options), workerRecovery })
    : undefined;
  return {
    wake: () => reaper.wake(),
    async stop() {
      await Promise.all([reaper.stop(), sweeper?.stop()]);
    },
  };
}
