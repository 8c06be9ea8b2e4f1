/** An app on the database that the environment names, whose tasks run on threads. */
import { threadId } from "node:worker_threads";
import { z } from "zod";
import { defineTask, fixed, posthaste } from "../../../src/index.ts";

const note = defineTask({ name: "note", run: (text: string) => text });

/** Sends another task from its thread. */
export const sendNote = defineTask({
  name: "send-note",
  blocking: true,
  run: async (text: string) => {
    const { id } = await app.send(note, text);
    return { id, threadId };
  },
});

export const collatz = defineTask({
  name: "collatz",
  blocking: true,
  input: z.object({ from: z.number() }),
  output: z.number(),
  run: ({ from }) => {
    let steps = 0;
    for (let n = from; n !== 1; n = n % 2 === 0 ? n / 2 : 3 * n + 1) steps++;
    return steps;
  },
});

export const spin = defineTask({
  name: "spin",
  blocking: true,
  run: (_: null, { log }) => {
    log.info("spinning");
    for (;;);
  },
});

/** Exits on its first attempt only. */
export const exitOnce = defineTask({
  name: "exit-once",
  blocking: true,
  retry: fixed({ intervalsMs: [1], retryFor: ["UNHANDLED_ERROR"] }),
  run: (_: null, { attempt }) => (attempt === 1 ? process.exit(3) : attempt),
});

/** Uses everything that its ctx offers. */
export const wholeContext = defineTask({
  name: "whole-context",
  blocking: true,
  run: async (_: null, ctx) => {
    const { threadId: made } = ctx.context as { threadId: number };
    ctx.progress({ half: "done" });
    const { id: alone } = await ctx.send(note, "sent alone");
    return ctx.transaction(async (tx) => {
      const { id: together } = await ctx.send(note, "sent with the completion", { tx });
      const { rows } = await tx.query<{ five: number }>("select 5 as five");
      return { alone, together, five: rows[0]?.five ?? 0, isOwnContext: made === threadId };
    });
  },
});

export const spinForAWhile = defineTask({
  name: "spin-for-a-while",
  blocking: true,
  timeoutMs: 300,
  run: () => {
    for (;;);
  },
});

export const heeding = defineTask({
  name: "heeding",
  blocking: true,
  run: (_: null, { log, signal }) => {
    log.info("looking at its signal");
    while (!signal.aborted);
    throw signal.reason;
  },
});

export const tasks = [
  note,
  sendNote,
  collatz,
  spin,
  exitOnce,
  wholeContext,
  spinForAWhile,
  heeding,
];

// The app may be used here: the call is made for a task, not at the file's top level.
const context = async () => {
  await app.ensureSchema();
  return { threadId };
};

export const app = posthaste({
  tasks,
  context,
  logger: { debug() {}, info() {}, warn() {}, error() {} },
});
