/** Recovery: a dead worker is noticed in seconds, a living one is left alone, and its work is recovered by rule. */
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { healthyWorkers } from "../packages/posthaste/test/scenarios/healthy-workers.ts";
import { cost } from "./recovery-cost.ts";
import { blocks, freezes } from "./recovery-freezes.ts";
import { atLeast, atMost, figure, run, runTests, type Shows } from "./show.ts";

export const recovery: Shows = {
  1: {
    title: "from SIGKILL to the handler running elsewhere, 50 kills, beside pg-boss and BullMQ",
    run: kills,
  },
  2: { title: "SIGSTOP for less and for more than the thresholds", run: freezes },
  3: { title: "tasks that block the event loop, for a while and for ever", run: blocks },
  4: {
    title: "every row of the tables: fields, errors, rules, hooks, sweeps, retention",
    run: async () => {
      await runTests(
        "database",
        "test/config/seed-fields.test.ts",
        "test/recovery",
        "test/hooks",
        "test/retention",
        "test/liveness",
        "test/store/recover-tasks.test.ts",
        "test/store/recovery-causes.test.ts",
      );
      await runTests("fast", "src/config/config-worker-recovery.test.ts", "src/domain/crash");
    },
  },
  5: {
    title: "chaos: 10 minutes with 6 workers; every fence is missed when it is gone",
    run: async () => {
      await run(
        "npm",
        "run",
        "-s",
        "chaos",
        "--",
        "--seed",
        "1",
        "--minutes",
        "10",
        "--workers",
        "6",
      );
      await run("npx", "--no-install", "tsx", "scripts/remove-fences.ts");
    },
  },
  6: { title: "healthy workers in a hard time are left alone (30 minutes)", run: hardTime },
  7: { title: "what heartbeats cost, and the benchmark's bars (45 minutes)", run: cost },
};

interface Row {
  readonly system: string;
  readonly config: string;
  readonly metric: string;
  readonly value: number;
}

async function kills(): Promise<void> {
  const file = join(mkdtempSync(join(tmpdir(), "posthaste-show-")), "recovery.json");
  await run("npm", "run", "-s", "bench", "--", "--only", "recovery", "--json", file);
  const rows = JSON.parse(readFileSync(file, "utf8")) as Row[];
  const found = (config: string, metric: string): number =>
    rows.find((row) => row.config === config && row.metric === metric)?.value ?? Number.NaN;
  for (const config of ["requeue", "requeue-1s"]) {
    figure(`kills, ${config}`, found(config, "kills"), 50);
    figure(`tasks that ran again, ${config}`, found(config, "recovered"), 50);
  }
  atMost("ms, p50, default settings", Math.round(found("requeue", "back p50 ms")), 7_000);
  atMost("ms, p99, default settings", Math.round(found("requeue", "back p99 ms")), 10_000);
  atMost("ms, p99, crashGraceMs 1,000", Math.round(found("requeue-1s", "back p99 ms")), 4_000);
}

async function hardTime(): Promise<void> {
  const startedAt = Date.now();
  const say = (line: string): void =>
    console.log(`       ${Math.round((Date.now() - startedAt) / 1_000)} s: ${line}`);
  const report = await healthyWorkers({
    minutes: 30,
    blockMs: 25_000,
    restarts: 5,
    freezeMs: 60_000,
    say,
  });
  console.log(`       ${report.tasks} tasks, ${report.blocks} blocks of 25 s`);
  atLeast("blocks of the event loop", report.blocks, 10);
  figure("restarts of PostgreSQL", report.restarts, 5);
  figure("tasks recovered", report.recoveries, 0);
  figure("attempts beyond the first", report.attemptsBeyondFirst, 0);
  figure("workers declared dead", report.deaths, 0);
  figure("workers that registered", report.registrations, 2);
  atLeast("tasks that completed", report.completed, report.tasks);
}
