/** The app of worker processes that are killed, frozen or blocked. What handlers do is written down outside the database. */
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, posthaste } from "posthaste";
import type { AppConfig } from "posthaste";

const folder = process.env["SCENARIO_FOLDER"] ?? ".";

/** One line in the file `runs`: what happened, in which process, to which attempt. */
function note(what: string, ctx: { readonly taskId: string; readonly attempt: number }): void {
  const line = { what, pid: process.pid, task: ctx.taskId, attempt: ctx.attempt, at: Date.now() };
  appendFileSync(join(folder, "runs"), `${JSON.stringify(line)}\n`);
}

export const child = defineTask({ name: "child", run: (by: string) => by });

/**
 * Its first attempt waits until the file `go` is there, however often it is told to stop, and then says everything that a
 * handler can say. Later attempts end at once.
 */
export const hold = defineTask({
  name: "hold",
  onCrash: "requeue",
  run: async (_input: null, ctx) => {
    note("began", ctx);
    if (ctx.attempt > 1) return "second";
    while (!existsSync(join(folder, "go"))) await sleep(20);
    note(ctx.signal.aborted ? "woke, aborted" : "woke", ctx);
    ctx.progress("from the first");
    await ctx.send(child, "first").then(
      () => note("child sent", ctx),
      () => note("child refused", ctx),
    );
    return "first";
  },
});

/** Waits until the file `go` is there, and must never run a second time by itself. */
export const holdOnce = defineTask({
  name: "hold-once",
  onCrash: "fail",
  run: async (_input: null, ctx) => {
    note("began", ctx);
    while (!existsSync(join(folder, "go"))) await sleep(20);
    return "once";
  },
});

/** Keeps the event loop from turning for so long; 0: for ever. */
export const spin = defineTask({
  name: "spin",
  run: (ms: number, ctx) => {
    note("began", ctx);
    const end = ms === 0 ? Infinity : performance.now() + ms;
    while (performance.now() < end);
    note("ended", ctx);
    return process.pid;
  },
});

/** Never lets the event loop turn again, on any worker: after a crash it may run again. */
export const spinAgain = defineTask({
  name: "spin-again",
  onCrash: "requeue",
  run: (_input: null, ctx): void => {
    note("began", ctx);
    for (;;);
  },
});

/** Computes in small pieces, so that a core is busy and the loop turns. */
export const work = defineTask({
  name: "work",
  run: async (ms: number, ctx) => {
    note("began", ctx);
    for (const end = performance.now() + ms; performance.now() < end; await sleep(0)) {
      for (const piece = performance.now() + 10; performance.now() < piece;);
    }
    return ctx.attempt;
  },
});

export const nap = defineTask({
  name: "nap",
  run: async (ms: number, ctx) => {
    note("began", ctx);
    await sleep(ms, undefined, { signal: ctx.signal });
    return ctx.attempt;
  },
});

const given = JSON.parse(process.env["SCENARIO_CONFIG"] ?? "{}") as AppConfig;
export const app = posthaste({
  ...given,
  tasks: [child, hold, holdOnce, spin, spinAgain, work, nap],
});
