/** Sweeps workers that fell silent, again and again, where `workerRecovery` is enabled. */
import type { WorkerRecoveryConfig } from "../domain/config.ts";
import type { Recoverer } from "../engine/recovered-tasks.ts";
import { isRepeatable } from "../engine/repeat-safely.ts";
import { sweepWorkers } from "../engine/sweep-workers.ts";
import { Periodic } from "../runtime/periodic.ts";
import { RoundClocks } from "./round-clocks.ts";

export interface SweeperOptions {
  readonly recoverer: Recoverer;
  readonly workerRecovery: WorkerRecoveryConfig;
  /** Whether the worker is heard itself. */
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
      if (doubt !== undefined) log.info({ doubt }, "no worker is swept in this round");
      else if (mayJudge(workerRecovery.sweepThresholdMs))
        await sweepWorkers(recoverer, workerRecovery);
    },
    onError: (error) => {
      clocks.forget();
      log[isRepeatable(error) ? "debug" : "warn"](
        { error: String(error) },
        "a sweep failed; the next one tries again",
      );
    },
  });
}
