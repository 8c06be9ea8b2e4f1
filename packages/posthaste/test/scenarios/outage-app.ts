/** The app of the workers in the outage storm. Handlers write into a ledger outside the database, which is never away. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, posthaste } from "posthaste";

const ledger = join(process.env["SCENARIO_FOLDER"] ?? ".", `ledger-${process.pid}.txt`);

/** Lasts as long as it is told, and writes down when it ends: which task, and whether its signal had been aborted. */
export const lastFor = defineTask({
  name: "last-for",
  run: async (input: { n: number; ms: number }, ctx) => {
    await sleep(input.ms);
    appendFileSync(ledger, `${ctx.taskId} ${ctx.signal.aborted ? "aborted" : "undisturbed"}\n`);
    return { n: input.n };
  },
});

const url = process.env["DATABASE_URL"] ?? "";
const sessionUrl = process.env["SCENARIO_SESSION_URL"];

export const app = posthaste({
  tasks: [lastFor],
  database: sessionUrl === undefined ? url : { url, sessionUrl },
});
