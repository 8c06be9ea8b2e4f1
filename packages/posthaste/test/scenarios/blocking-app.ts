/** The app of a worker process whose blocking tasks do what they should not, and of those who watch it. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, posthaste } from "posthaste";

const blocking = true;

export const spinFor = defineTask({
  name: "spin-for",
  blocking,
  run: (ms: number) => {
    for (const end = Date.now() + ms; Date.now() < end;);
    return null;
  },
});

export const spinForEver = defineTask({
  name: "spin-for-ever",
  blocking,
  timeoutMs: 500,
  run: (): null => {
    for (;;);
  },
});

export const exitProcess = defineTask({
  name: "exit-process",
  blocking,
  run: (code: number) => process.exit(code),
});

export const hoardMemory = defineTask({
  name: "hoard-memory",
  blocking,
  run: (): null => {
    const hoarded: object[] = [];
    for (;;) hoarded.push({ at: Math.random(), text: String(Math.random()) });
  },
});

/** How late timers of this process were at worst, for so many milliseconds. */
export const measureLag = defineTask({
  name: "measure-lag",
  run: async (ms: number) => ({ pid: process.pid, ...(await lagFor(ms)) }),
});

export const stamp = defineTask({
  name: "stamp",
  run: () => ({ pid: process.pid, at: Date.now() }),
});

export const stampOnThread = defineTask({
  name: "stamp-on-thread",
  blocking,
  run: () => ({ pid: process.pid, at: Date.now() }),
});

const TICK_MS = 10;

export interface Lag {
  readonly samples: number;
  readonly worstMs: number;
}

export async function lagFor(ms: number): Promise<Lag> {
  let samples = 0;
  let worstMs = 0;
  for (const end = performance.now() + ms; performance.now() < end; samples++) {
    const due = performance.now() + TICK_MS;
    await sleep(TICK_MS);
    worstMs = Math.max(worstMs, performance.now() - due);
  }
  return { samples, worstMs };
}

export const app = posthaste({
  tasks: [spinFor, spinForEver, exitProcess, hoardMemory, measureLag, stamp, stampOnThread],
});
