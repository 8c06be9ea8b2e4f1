/** The app of the worker processes that scenarios start. Bodies write into a ledger outside the database. */
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, posthaste } from "posthaste";

const folder = process.env["SCENARIO_FOLDER"] ?? ".";

/** Writes down that it ran, and under which claim. */
export const recordRun = defineTask({
  name: "record-run",
  run: async (input: { n: number }, ctx) => {
    appendFileSync(join(folder, `runs-${process.pid}.ndjson`), `${ctx.taskId}\n`);
    await sleep(0);
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

export const app = posthaste({
  tasks: [recordRun, waitForGo],
  resilience: { dbRetryInitialMs: 100, dbRetryMaxMs: 500, notifyPollIntervalMs: 1_000 },
});
