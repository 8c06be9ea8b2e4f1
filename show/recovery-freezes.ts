/** Workers that do not answer for a while: frozen by SIGSTOP, or with an event loop that does not turn. */
import {
  blockedForAWhile,
  blockedForEver,
} from "../packages/posthaste/test/scenarios/blocked-loops.ts";
import { longFreeze, shortFreeze } from "../packages/posthaste/test/scenarios/frozen-workers.ts";
import { atLeast, atMost, figure, withServer } from "./show.ts";

export async function freezes(): Promise<void> {
  console.log("SIGSTOP for 60 s, default thresholds, another worker beside it");
  await withServer(async (url) => {
    const { tasks, recoveries, deaths, completedAtFirst } = await shortFreeze(url, 60_000);
    figure("tasks recovered", recoveries, 0);
    figure("workers declared dead", deaths, 0);
    figure("tasks that completed, at their first attempt", completedAtFirst, tasks);
  });
  console.log("\nSIGSTOP beyond a threshold of 3 s, then SIGCONT");
  await withServer(async (url) => {
    const report = await longFreeze(url);
    const owners = { ok: true, value: "second" };
    figure("result of the new owner", report.result, owners);
    figure("attempts", report.outcomes, ["1 WORKER_FAILURE", "2 COMPLETED"]);
    figure("heartbeats of the zombie that were written", report.heartbeats, 0);
    figure("progress of the zombie that was written", report.progress, null);
    figure("children of the zombie that were sent", report.children, 0);
    figure("the zombie was told so", report.childRefused, true);
    figure("result afterwards", report.resultAfterwards, owners);
    figure("the former zombie's next task", report.worksOn, { ok: true, value: 1 });
    for (const line of report.zombieSaid) console.log(`       it said: ${line}`);
  });
}

export async function blocks(): Promise<void> {
  console.log("an ordinary task blocks the event loop; crashGraceMs 1 s, heartbeats every second");
  await withServer(async (url) => {
    const report = await blockedForAWhile(url);
    console.log(`       blocked for ${report.blockedMs} ms, threshold 8,000 ms`);
    atLeast("listener sessions terminated meanwhile", report.listenersEnded, 1);
    figure("tasks recovered", report.recoveries, 0);
    figure("workers declared dead", report.deaths, 0);
    figure("attempts of it and of a task beside it", report.attempts, [1, 1]);
    figure("its log says that the loop was blocked", report.saidBlocked, true);
  });
  console.log("\nan endless loop");
  await withServer(async (url) => {
    const report = await blockedForEver(url);
    figure("error", report.error, "WORKER_CRASHED");
    atLeast("ms until it was recovered", report.recoveredAfterMs, report.thresholdMs);
    atMost("ms until it was recovered", report.recoveredAfterMs, report.thresholdMs + 5_000);
    figure("the report says so", report.reason.includes("event loop blocked"), true);
    console.log(`       it says: ${report.reason}`);
    figure("the other worker goes on", report.besideCompleted, true);
  });
}
