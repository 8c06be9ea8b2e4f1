/** Trust: the test command is green anywhere, hung workers end, every failure is logged, every result is kept. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createThrowawayDatabase } from "../packages/posthaste/src/store/throwaway-database.ts";
import { failover } from "../packages/posthaste/test/scenarios/failover.ts";
import {
  fullNotifications,
  smallNotificationQueue,
} from "../packages/posthaste/test/scenarios/full-notifications.ts";
import {
  hungAlone,
  hungAndReported,
  hungAndTerminated,
  hungUnderSupervisor,
  hungWhileDebugged,
} from "../packages/posthaste/test/scenarios/hung-workers.ts";
import { largeGraphs } from "../packages/posthaste/test/scenarios/large-graphs.ts";
import { lateEcho } from "../packages/posthaste/test/scenarios/late-echo.ts";
import { lockedHeartbeats } from "../packages/posthaste/test/scenarios/locked-heartbeats.ts";
import { lostTransactions } from "../packages/posthaste/test/scenarios/lost-transactions.ts";
import { refusedDatabases } from "../packages/posthaste/test/scenarios/refused-databases.ts";
import { resultsRefusedWith } from "../packages/posthaste/test/scenarios/refused-results.ts";
import { severalHosts } from "../packages/posthaste/test/scenarios/several-hosts.ts";
import {
  onFrozenServer,
  stopWhileSilent,
  throughSilentProxy,
} from "../packages/posthaste/test/scenarios/silent-database.ts";
import { vanishedTasks } from "../packages/posthaste/test/scenarios/vanished-tasks.ts";
import { atMost, figure, run, runTests, withServer, type Shows } from "./show.ts";

export const trust: Shows = {
  1: {
    title:
      "a clean clone: npm test beside two busy loops and alone, and npm run test:long; an hour",
    run: testCommands,
  },
  2: {
    title: "endless loops under the supervisor and alone; SIGTERM while all are hung",
    run: hung,
  },
  3: {
    title:
      "the log of a failing night, transactions, deployments and the small ones: a test per sentence",
    run: sentences,
  },
  4: {
    title: "faults of server, network and disk, with real processes and a real server",
    run: faults,
  },
  5: {
    title: "npm run bench -- --check: every bar that held still holds; half an hour",
    run: async () => {
      await run("npm", "run", "-s", "bench", "--", "--check");
    },
  },
};

const BUSY_LOOPS = 2;
/** What a verdict and a stop may take beyond their own times. */
const SOON_MS = 5_000;

async function hung(): Promise<void> {
  await withServer(async (serverUrl) => {
    for (const onCrash of ["policy", "requeue"] as const) {
      for (const [where, scene] of [
        ["two processes under the supervisor", hungUnderSupervisor],
        ["one process alone", hungAlone],
      ] as const) {
        console.log(`\n  ${where}, onCrash ${onCrash}`);
        const report = await onDatabase(serverUrl, (url) => scene(url, onCrash));
        figure("the task ends by rule", report.error, "WORKER_CRASHED");
        figure("attempts", report.attempts, onCrash === "requeue" ? 3 : 1);
        figure(
          "reason says event loop blocked",
          report.reason.includes("event loop blocked"),
          true,
        );
        figure("hung processes that are still there", report.hungAlive, 0);
        figure("workers alive afterwards", report.workersAlive, scene === hungAlone ? 1 : 2);
        if (scene === hungAlone) figure("exit (137 in a shell)", report.exit, "SIGKILL");
        console.log(`       stopped in: ${report.stack[0] ?? "unknown"}`);
        atMost("ms from the verdict to the end of the next task", report.nextTaskMs, SOON_MS);
        atMost("ms from SIGTERM to the end", report.stoppedAfterMs, report.graceMs + SOON_MS);
      }
    }
    console.log(
      "\n  SIGTERM to a supervisor whose two processes are hung, long before the threshold",
    );
    const report = await onDatabase(serverUrl, hungAndTerminated);
    figure("processes left", report.alive, []);
    atMost("ms from SIGTERM to the end", report.stoppedAfterMs, report.graceMs + SOON_MS);
    console.log("\n  a debugger is attached, then detached; onBlocked: report");
    const debugged = await onDatabase(serverUrl, hungWhileDebugged);
    figure("alive while attached", debugged.aliveWhileAttached, true);
    figure("listed as", debugged.state, "blocked");
    figure("exit when detached", debugged.exit, "SIGKILL");
    const reported = await onDatabase(serverUrl, hungAndReported);
    figure("lines of the report", reported.reports.length, 1);
    figure("the same process works on", reported.isSameProcess && reported.worksOn, true);
  });
}

async function sentences(): Promise<void> {
  await runTests(
    "fast",
    "src/domain/logger.test.ts",
    "src/runtime/burst-counter.test.ts",
    "src/worker/execution/serialize-error.test.ts",
    "src/worker/outage.test.ts",
    "src/sending/compose-task.test.ts",
  );
  await runTests(
    "database",
    "test/e2e/failing-night.test.ts",
    "test/e2e/first-hour.test.ts",
    "test/client/wrong-transactions.test.ts",
    "test/worker/ended-transactions.test.ts",
    "test/worker/unknown-tasks.test.ts",
    "test/worker/start-log.test.ts",
    "test/store/migrate.test.ts",
    "test/store/public-send.test.ts",
    "test/recovery/admin.test.ts",
    "test/security",
    "test/testing",
    "test/e2e/command-line.test.ts",
    "test/types",
  );
}

async function faults(): Promise<void> {
  await withServer(async (serverUrl) => {
    for (const code of ["53200", "58030", "XX000"]) {
      console.log(`\n  F.1 results refused with ${code}`);
      const kept = await onDatabase(serverUrl, (url) => resultsRefusedWith(url, code));
      figure("completed of", [kept.completed, kept.tasks], [kept.tasks, kept.tasks]);
      figure("ran twice, recovered", [kept.ranTwice, kept.recoveries], [0, 0]);
      figure("sends", kept.sends, ["DATABASE_UNAVAILABLE, retryable", "sent"]);
    }
    console.log("\n  F.2 transactions that lose their connection");
    const lost = await onDatabase(serverUrl, (url) => lostTransactions(url, 15));
    figure("connections ended", lost.sessionsEnded, 15);
    figure("bystanders completed of 20", lost.bystandersCompleted, lost.bystanders);
    figure("users completed of 20", lost.usersCompleted, lost.users);
    console.log("\n  F.3 a large graph after a small one, in one session");
    const graphs = await onDatabase(serverUrl, largeGraphs);
    console.log(`       10,000 nodes first: ${graphs.firstMs} ms`);
    atMost("ms after small ones", graphs.afterSmallOnesMs, 2 * graphs.firstMs);
    console.log("\n  F.4 tasks that vanish under a wait");
    const vanished = await vanishedTasks(serverUrl);
    figure("the wait for a task", vanished.task, "TASK_NOT_FOUND");
    figure("the wait for a run", vanished.run, "WORKFLOW_NOT_FOUND");
    atMost("ms until both ended", vanished.endedAfterMs, 10 * vanished.pollEveryMs);
    console.log("\n  F.6 nobody can write a heartbeat for five sweep thresholds");
    const locked = await onDatabase(serverUrl, lockedHeartbeats);
    figure("handler runs of 6 tasks", locked.handlerRuns, 6);
    figure("recoveries and deaths", [locked.recoveries, locked.deaths], [0, 0]);
    console.log("\n  F.7 SIGTERM while the network swallows every byte");
    const silent = await onDatabase(serverUrl, (url) => throughSilentProxy(url, stopWhileSilent));
    atMost("ms from SIGTERM to exit, busy", silent.busyExitMs, silent.graceMs + SOON_MS);
    atMost("ms from SIGTERM to exit, idle", silent.idleExitMs, silent.graceMs + SOON_MS);
    console.log("\n  F.8 the first echo of a listener is late");
    const echo = await onDatabase(serverUrl, lateEcho);
    atMost(`ms until it wakes, echo ${echo.echoLateMs} ms late`, echo.wokenAfterMs, 20_000);
    figure(
      "lines that blame a pooler",
      echo.said.filter((line) => line.includes("pooler")),
      [],
    );
    console.log("\n  F.10 databases that are refused");
    const refused = await refusedDatabases(serverUrl);
    for (const [encoding, said] of Object.entries(refused.encodings))
      figure(`${encoding} is refused`, said.startsWith("SCHEMA_MISMATCH"), true);
    for (const [schema, said] of Object.entries(refused.schemas))
      figure(`schema ${schema}`, said, "CONFIG_INVALID");
  });
  console.log("\n  F.7 SIGTERM while every process of the server stands still");
  const frozen = await onFrozenServer(stopWhileSilent);
  atMost("ms from SIGTERM to exit, busy", frozen.busyExitMs, frozen.graceMs + SOON_MS);
  console.log(
    "\n  F.5 and F.11 failover to a standby that lagged behind and had run for longer than the thresholds",
  );
  const over = await failover();
  figure("runs of the handler with onCrash fail", over.onceRuns, 1);
  figure("runs of the handler with onCrash requeue", over.againRuns, 2);
  figure("reasons in recoveries", over.reasons, ["claim unknown", "claim unknown"]);
  figure("workers declared dead", over.deaths, 0);
  console.log("\n  F.10 a URL with two hosts, primary and standby");
  const hosts = await severalHosts();
  figure("completed before and after", [hosts.completedBefore, hosts.completedAfter], [20, 21]);
  console.log(`       the next task completed ${hosts.backAfterMs} ms after the promotion`);
  await withServer(async (serverUrl) => {
    console.log("\n  F.9 the notification queue is full");
    const full = await onDatabase(serverUrl, fullNotifications);
    figure("a plain NOTIFY", full.plainNotify, "54000");
    figure("calls that were refused", full.refused, {});
  }, smallNotificationQueue);
  // F.1 on a full disk, and F.13, are tests: each needs a server or a proxy that the test makes.
  await runTests(
    "database",
    "test/e2e/refused-results.test.ts",
    "test/liveness/sessions.test.ts",
    "test/worker/earlier-state.test.ts",
  );
}

async function onDatabase<Answer>(
  serverUrl: string,
  use: (url: string) => Promise<Answer>,
): Promise<Answer> {
  const database = await createThrowawayDatabase({ serverUrl, schema: "posthaste" });
  try {
    return await use(database.url);
  } finally {
    await database.drop();
  }
}

async function testCommands(): Promise<void> {
  const clone = mkdtempSync(join(tmpdir(), "posthaste-clone-"));
  const npm = (...words: string[]): Promise<string> => run("npm", "--prefix", clone, ...words);
  try {
    await run("git", "clone", "--quiet", ".", clone);
    await npm("ci");
    const loops = Array.from({ length: BUSY_LOOPS }, () =>
      spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
    );
    try {
      await npm("test");
    } finally {
      for (const loop of loops) loop.kill("SIGKILL");
    }
    figure(`npm test beside ${BUSY_LOOPS} busy loops`, "green", "green");
    const alone = timesIn(await npm("test"));
    atMost("wall minutes of npm test, alone", alone.wall, 6);
    atMost("CPU minutes of npm test", alone.cpu, 9);
    const long = timesIn(await npm("run", "test:long"));
    atMost("wall minutes of npm run test:long", long.wall, 25);
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
}

/** In minutes, from the line that scripts/run-tests.ts prints. */
function timesIn(output: string): { readonly wall: number; readonly cpu: number } {
  const found = /wall time (\d+) min (\d+) s, CPU time (\d+) min (\d+) s/.exec(output);
  if (found === null) throw new Error("expected the times of the tests, found none");
  const [wallMin, wallS, cpuMin, cpuS] = found.slice(1).map(Number);
  const minutes = (min = 0, seconds = 0): number => Number((min + seconds / 60).toFixed(2));
  return { wall: minutes(wallMin, wallS), cpu: minutes(cpuMin, cpuS) };
}
