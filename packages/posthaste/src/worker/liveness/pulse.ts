/** Memory that the main loop writes and the liveness thread reads: proof that the loop turns. */
import { getHeapStatistics } from "node:v8";

const BEAT_EVERY_MS = 200;

/** The main loop's side. Keeps no process alive. */
export function startPulse(memory: SharedArrayBuffer): () => void {
  const [turns, heap] = views(memory);
  const beat = (): void => {
    Atomics.add(turns, 0, 1);
    heap[0] = getHeapStatistics().used_heap_size;
  };
  beat();
  const timer = setInterval(beat, BEAT_EVERY_MS).unref();
  return () => clearInterval(timer);
}

export function newPulse(): SharedArrayBuffer {
  return new SharedArrayBuffer(16);
}

/** The thread's side. */
export function readPulse(memory: SharedArrayBuffer): { turns: number; heapBytes: number } {
  const [turns, heap] = views(memory);
  return { turns: Atomics.load(turns, 0), heapBytes: heap[0] ?? 0 };
}

/** One Int32 that counts turns, four bytes that nobody uses, one Float64: the heap in use. */
function views(memory: SharedArrayBuffer): [Int32Array, Float64Array] {
  return [new Int32Array(memory, 0, 1), new Float64Array(memory, 8, 1)];
}
