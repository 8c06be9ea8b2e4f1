/** The app of a worker that is killed while its ends cannot be written. Finished handlers are written down outside the database. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, posthaste } from "posthaste";

const ledger = join(process.env["SCENARIO_FOLDER"] ?? ".", "ledger");

export const note = defineTask({
  name: "note",
  onCrash: "fail",
  run: async (n: number, ctx) => {
    await sleep(n % 11);
    appendFileSync(ledger, `${ctx.taskId}\n`);
    return n;
  },
});

export const app = posthaste({
  tasks: [note],
  database: process.env["DATABASE_URL"] ?? "",
  recovery: { crashGraceMs: 1_000, checkIntervalMs: 1_000 },
});
