/** Shared memory in which the main thread counts turns of its event loop for the liveness thread. */
import { getHeapStatistics } from "node:v8";

const BEAT_EVERY_MS = 200;

/** The main loop's side. Keeps no process alive. */
export function countLoopTurns(memory: SharedArrayBuffer): () => void {
  const [turns, heap] = views(memory);
  const beat = (): void => {
    Atomics.add(turns, 0, 1);
    heap[0] = getHeapStatistics().used_heap_size;
  };
  beat();
  const timer = setInterval(beat, BEAT_EVERY_MS).unref();
  return () => clearInterval(timer);
}

export function newLoopTurns(): SharedArrayBuffer {
  return new SharedArrayBuffer(16);
}

/** The thread's side. */
export function readLoopTurns(memory: SharedArrayBuffer): { turns: number; heapBytes: number } {
  const [turns, heap] = views(memory);
  return { turns: Atomics.load(turns, 0), heapBytes: heap[0] ?? 0 };
}

/** An Int32 counts turns; after four unused bytes a Float64 has the heap in use. */
function views(memory: SharedArrayBuffer): [Int32Array, Float64Array] {
  return [new Int32Array(memory, 0, 1), new Float64Array(memory, 8, 1)];
}
