/** Sweeps workers that fell silent, again and again, where `workerRecovery` is enabled. */
import type { WorkerRecoveryConfig } from "../config/config.ts";
import { isRepeatable } from "../database/repeat-safely.ts";
import { Periodic } from "../runtime/periodic.ts";
import type { Recoverer } from "./recovered-tasks.ts";
import { RoundClocks } from "./round-clocks.ts";
import { sweepWorkers } from "./sweep-workers.ts";

export interface SweeperOptions {
  readonly recoverer: Recoverer;
  readonly workerRecovery: WorkerRecoveryConfig;
  /** Whether the heartbeats of this worker are written. */
  readonly mayJudge: (thresholdMs: number) => boolean;
}

/** In every worker: which of them sweeps is decided by the lock that a sweep takes. */
export function startSweeper({ recoverer, workerRecovery, mayJudge }: SweeperOptions): Periodic {
  const { database, log } = recoverer;
  const clocks = new RoundClocks(database, workerRecovery.sweepIntervalMs);
  void clocks.begin(); // it does not reject
  return new Periodic({
    everyMs: workerRecovery.sweepIntervalMs,
    run: async () => {
      const doubt = await clocks.check();
      if (doubt !== undefined)
        log.info({ doubt }, "clocks are in doubt; skipping this sweep of silent workers");
      else if (mayJudge(workerRecovery.sweepThresholdMs))
        await sweepWorkers(recoverer, workerRecovery);
    },
    onError: (error) => {
      clocks.forget();
      log[isRepeatable(error) ? "debug" : "warn"](
        { error: String(error) },
        "sweep of silent workers failed; the next sweep retries",
      );
    },
  });
}
