/**
 * A worker that is the child of a supervisor. A signal may reach it twice, from the terminal or the process manager and
 * again from the supervisor, so signals only ever ask it to stop, and only the supervisor's word hurries it. When the
 * supervisor is gone the channel breaks, and that asks it to stop too.
 */
import type { Posthaste } from "../app/posthaste.ts";
import type { WorkerOptions } from "../config/worker-options.ts";

/** The supervisor's word to its children: the grace is over. */
export const HURRY = "hurry";

export async function runSupervised(app: Posthaste, options: WorkerOptions): Promise<void> {
  const worker = app.worker(options);
  const stop = (): void => void worker.stop();
  const onMessage = (message: unknown): void => {
    if (message === HURRY) worker.hurry();
  };
  process.on("SIGTERM", stop).on("SIGINT", stop).on("disconnect", stop).on("message", onMessage);
  process.channel?.unref(); // the listener must not keep an ended process alive
  try {
    if (!process.connected) return; // orphaned before it could listen
    await worker.start();
    await worker.stopped();
  } finally {
    await worker.stop();
    process
      .off("SIGTERM", stop)
      .off("SIGINT", stop)
      .off("disconnect", stop)
      .off("message", onMessage);
  }
}
