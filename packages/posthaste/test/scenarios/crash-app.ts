/** The app of worker processes that are killed: one task that may run twice, and one that may not. */
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, posthaste, type TaskContext } from "posthaste";

const folder = process.env["SCENARIO_FOLDER"] ?? ".";

const { DATABASE_URL: databaseUrl = "", SESSION_URL: sessionUrl } = process.env;

/** Says that it has begun, and ends when the file `go` is there. */
async function untilGo(ctx: TaskContext): Promise<{ pid: number; attempt: number }> {
  appendFileSync(join(folder, "begun"), `${ctx.name} ${process.pid}\n`);
  while (!existsSync(join(folder, "go"))) await sleep(20);
  return { pid: process.pid, attempt: ctx.attempt };
}

export const mayRunTwice = defineTask({
  name: "may-run-twice",
  onCrash: "requeue",
  run: (_: null, ctx) => untilGo(ctx),
});

export const runsOnce = defineTask({ name: "runs-once", run: (_: null, ctx) => untilGo(ctx) });

/** Kills its process the first time. */
export const killsAtOnce = defineTask({
  name: "kills-at-once",
  onCrash: "requeue",
  run: (_: null, { attempt }) => {
    if (attempt === 1) process.kill(process.pid, "SIGKILL");
    return attempt;
  },
});

export const app = posthaste({
  tasks: [mayRunTwice, runsOnce, killsAtOnce],
  recovery: { crashGraceMs: 1_000 },
  ...(sessionUrl === undefined ? {} : { database: { url: databaseUrl, sessionUrl } }),
});
