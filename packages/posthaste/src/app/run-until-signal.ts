import { onStopSignals } from "../runtime/stop-signals.ts";
import type { Worker } from "../worker/worker.ts";

/** A worker that stops when its process is told to; a second signal hurries. */
export async function runUntilSignal(worker: Worker): Promise<void> {
  const unhook = onStopSignals(
    () => void worker.stop(),
    () => worker.hurry(),
  );
  try {
    await worker.start();
    await worker.stopped();
  } finally {
    unhook();
    await worker.stop();
  }
}
