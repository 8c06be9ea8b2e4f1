import { onStopSignals } from "../runtime/stop-signals.ts";
import type { Worker } from "../worker/worker.ts";

/** Runs a worker until a signal. A second signal ends the grace. Returns whether a signal stopped it. */
export async function runUntilSignal(worker: Worker): Promise<boolean> {
  let isSignalled = false;
  const unhook = onStopSignals(
    () => {
      isSignalled = true;
      void worker.stop();
    },
    () => worker.hurry(),
  );
  try {
    await worker.start();
    await worker.stopped();
    return isSignalled;
  } finally {
    unhook();
    await worker.stop();
  }
}
