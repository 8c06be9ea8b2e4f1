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

export const tasks = [note, sendNote, collatz, spin, exitOnce];

export const app = posthaste({ tasks, logger: { debug() {}, info() {}, warn() {}, error() {} } });
