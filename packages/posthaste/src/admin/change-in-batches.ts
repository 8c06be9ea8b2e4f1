/** Changes many tasks in batches, in the order of their ids, no faster than allowed. */
import { pause } from "../runtime/pause.ts";

export interface Pace {
  /** Null: as fast as the database takes them. */
  readonly maxPerSecond: number | null;
  /** Stops before the next batch when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Called after every batch. */
  readonly onProgress?: ((done: number, matched: number) => void) | undefined;
}

/** Tasks of one transaction: some 20 ms of locks on rows that are at rest. */
const BATCH = 200;
/** With a rate, batches are this far apart, so that a second holds many small ones. */
const EVERY_MS = 100;
/** After a stall the lost time is caught up, but never more than this, or a burst would follow. */
const MOST_CATCH_UP_MS = 1_000;

/** Returns how many it got to: all, unless the signal aborted. */
export async function changeInBatches(
  ids: readonly string[],
  { maxPerSecond, signal, onProgress }: Pace,
  change: (batch: readonly string[]) => Promise<void>,
): Promise<number> {
  const size =
    maxPerSecond === null
      ? BATCH
      : Math.max(1, Math.min(BATCH, Math.floor((maxPerSecond * EVERY_MS) / 1_000)));
  let dueAt = performance.now();
  let done = 0;
  const isStopped = (): boolean => signal?.aborted === true;
  while (done < ids.length && !isStopped()) {
    const batch = ids.slice(done, done + size);
    await change(batch);
    done += batch.length;
    onProgress?.(done, ids.length);
    if (maxPerSecond === null || done >= ids.length) continue;
    const now = performance.now();
    dueAt = Math.max(dueAt + (batch.length / maxPerSecond) * 1_000, now - MOST_CATCH_UP_MS);
    if (dueAt > now) await pause(dueAt - now, signal);
  }
  return done;
}
