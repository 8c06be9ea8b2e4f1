/** An app whose handlers return, throw, spin, exit or block on threads. Only real threads load it. */
import { execFileSync } from "node:child_process";
import { setTimeout as later } from "node:timers/promises";
import { threadId } from "node:worker_threads";
import { z } from "zod";
import { defineTask, fail, posthaste, TaskAborted } from "../../../src/index.ts";

const blocking = true;

const add = defineTask({
  name: "add",
  blocking,
  input: z.object({ a: z.number(), b: z.string().transform(Number) }),
  output: z.number(),
  run: ({ a, b }) => a + b,
});

const where = defineTask({
  name: "where",
  blocking,
  run: (_: null, { taskId, name, queue, attempt, workerId, claimId }) => ({
    threadId,
    facts: { taskId, name, queue, attempt, workerId, claimId },
  }),
});

const echo = defineTask({
  name: "echo",
  blocking,
  run: (input: number) => ({ input, threadId }),
});

const refuse = defineTask({
  name: "refuse",
  blocking,
  errors: ["NO_PAPER"],
  run: () => fail("NO_PAPER", "the printer is empty", { tray: 2 }),
});

const explode = defineTask({
  name: "explode",
  blocking,
  run: async () => {
    await later(1);
    throw new RangeError("too hot", { cause: new Error("the sun") });
  },
});

function told(signal: AbortSignal) {
  const reason: unknown = signal.reason;
  return {
    isTaskAborted: reason instanceof TaskAborted,
    reason: reason instanceof TaskAborted ? reason.reason : null,
  };
}

/** Waits for the abort event. */
const listen = defineTask({
  name: "listen",
  blocking,
  run: async (_: null, { signal, log }) => {
    if (!signal.aborted) {
      const heard = new Promise((resolve) => signal.addEventListener("abort", resolve));
      log.info("listening");
      await heard;
    }
    return told(signal);
  },
});

/** Computes, and looks at its signal from time to time without ever returning to the event loop. */
const compute = defineTask({
  name: "compute",
  blocking,
  run: (_: null, { signal, log }) => {
    log.info("computing");
    while (!signal.aborted);
    return told(signal);
  },
});

const computeAndThrow = defineTask({
  name: "compute-and-throw",
  blocking,
  run: (_: null, { signal, log }) => {
    log.info("computing");
    for (;;) signal.throwIfAborted();
  },
});

const spin = defineTask({
  name: "spin",
  blocking,
  run: (_: null, { log }) => {
    log.info({ threadId }, "spinning");
    for (;;);
  },
});

/** Stays inside a native call, which cannot be ended, until the folder is gone. */
const native = defineTask({
  name: "native",
  blocking,
  run: (folder: string) => {
    const program = `
      const folder = ${JSON.stringify(folder)};
      fs.writeFileSync(folder + "/begun", "");
      setInterval(() => fs.existsSync(folder) || process.exit(), 10);`;
    execFileSync(process.execPath, ["-e", program]);
  },
});

const hoard = defineTask({
  name: "hoard",
  blocking,
  run: () => {
    const hoarded: object[] = [];
    for (;;) hoarded.push({ at: Math.random(), text: String(Math.random()) });
  },
});

const exit = defineTask({ name: "exit", blocking, run: (code: number) => process.exit(code) });

const timer = defineTask({
  name: "timer",
  blocking,
  run: () =>
    new Promise<null>(() => {
      setTimeout(() => {
        throw new Error("nobody waits for me");
      }, 1);
    }),
});

const rejection = defineTask({
  name: "rejection",
  blocking,
  run: () => {
    void Promise.reject(new Error("let go of"));
    return "returned";
  },
});

/** Leaves a timer behind that throws after the task has ended, when `light` adds to `bombs`. */
const leave = defineTask({
  name: "leave",
  blocking,
  run: () => {
    bombs.push(() => {
      throw new Error("left behind");
    });
    setInterval(() => bombs.length > 1 && bombs.shift()?.(), 1);
    return threadId;
  },
});
const bombs: (() => void)[] = [];

const light = defineTask({
  name: "light",
  blocking,
  run: async (_: null, { log }) => {
    bombs.push(() => undefined);
    while (bombs.length > 1) await later(1);
    log.info("still here");
    return threadId;
  },
});

const chat = defineTask({
  name: "chat",
  blocking,
  run: (_: null, { log }) => {
    log.debug("plain");
    log.info({ n: 1, at: new Date(0), error: new Error("kept") }, "with fields");
    log.warn({ f: () => 1, ok: 2 }, "with a function");
  },
});

export const app = posthaste({
  database: "postgres://nobody@127.0.0.1:1/none",
  tasks: [
    add,
    where,
    echo,
    refuse,
    explode,
    listen,
    compute,
    computeAndThrow,
    spin,
    native,
    hoard,
    exit,
    timer,
    rejection,
    leave,
    light,
    chat,
  ],
});
