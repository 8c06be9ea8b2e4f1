/** The app of the worker whose results PostgreSQL refuses for a while. Handlers are written down outside the database. */
import { randomBytes } from "node:crypto";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, posthaste } from "posthaste";

const ledger = join(process.env["SCENARIO_FOLDER"] ?? ".", "ledger");

/** Lasts as long as it is told. Its result does not fit into a page that PostgreSQL has already. */
export const report = defineTask({
  name: "report",
  run: async (ms: number, ctx) => {
    appendFileSync(ledger, `${ctx.taskId}\n`);
    await sleep(ms);
    return randomBytes(24_000).toString("base64");
  },
});

export const app = posthaste({
  tasks: [report],
  database: process.env["DATABASE_URL"] ?? "",
  // Results are refused for longer than the threshold: only heartbeats keep their tasks from being recovered.
  recovery: {
    runnerHeartbeatIntervalMs: 1_000,
    runningStaleThresholdMs: 3_000,
    checkIntervalMs: 1_000,
  },
});
