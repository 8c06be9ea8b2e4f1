import { onStopSignals } from "../runtime/stop-signals.ts";
import type { Worker } from "../worker/worker.ts";

/** A worker that stops when its process is told to; a second signal hurries. Returns whether it was a signal that stopped it. */
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
