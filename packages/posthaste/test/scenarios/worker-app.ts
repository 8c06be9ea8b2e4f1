/** The app of the worker processes that scenarios start. Handlers write into a ledger outside the database. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, posthaste } from "posthaste";

const folder = process.env["SCENARIO_FOLDER"] ?? ".";

let running = 0;

/** Writes down that it ran, and how many ran beside it in this process. */
export const recordRun = defineTask({
  name: "record-run",
  run: async (input: { n: number }, ctx) => {
    running++;
    appendFileSync(join(folder, `runs-${process.pid}.txt`), `${ctx.taskId} ${running}\n`);
    await sleep(15);
    running--;
    return { n: input.n };
  },
});

/** Says that it has begun, and ends when the file `go` is there. */
export const waitForGo = defineTask({
  name: "wait-for-go",
  run: async (_input: null, ctx) => {
    appendFileSync(join(folder, "begun"), `${process.pid} ${ctx.claimId}\n`);
    while (!existsSync(join(folder, "go"))) await sleep(20);
    return { pid: process.pid, claim: ctx.claimId };
  },
});

/**
 * The pid in whose process `wait-for-go` has begun, once its line is whole: a file is there before anything is in it, and a
 * signal to "pid 0" would go to everybody.
 */
export function pidOfBody(inFolder: string): number | undefined {
  const file = join(inFolder, "begun");
  const [line, rest] = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  return rest === undefined ? undefined : Number(line?.split(" ")[0]);
}

export const app = posthaste({
  tasks: [recordRun, waitForGo],
  resilience: { dbRetryInitialMs: 100, dbRetryMaxMs: 500, notifyPollIntervalMs: 1_000 },
});
