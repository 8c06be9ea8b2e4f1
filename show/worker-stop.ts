/** kill -TERM of a busy worker. */
import {
  stoppedWorker,
  type StoppedWorkerReport,
} from "../packages/posthaste/test/scenarios/stopped-worker.ts";
import { atLeast, atMost, figure, withServer } from "./show.ts";

const ROUNDS = 5;
const GRACE_MS = 2_000;
const LATEST_MS = 3_000;

export async function stopUnderLoad(): Promise<void> {
  await withServer(async (url) => {
    for (let round = 1; round <= ROUNDS; round++) {
      const delayMs = Math.round(Math.random() * 1_500);
      console.log(`\n  SIGTERM ${round} of ${ROUNDS}, ${delayMs} ms into the load`);
      const report = await stoppedWorker({ url, graceMs: GRACE_MS, delayMs });
      atMost("ms until it exited", report.exitMs, GRACE_MS + LATEST_MS);
      check(report);
    }
    console.log("\n  a grace of 60 s, and a second SIGTERM");
    const report = await stoppedWorker({ url, graceMs: 60_000, delayMs: 500, hurryAfterMs: 500 });
    atMost("ms from the second one until it exited", report.exitMs, LATEST_MS);
    check(report);
  });
}

function check(report: StoppedWorkerReport): void {
  const { sent } = report;
  console.log(`       held when it came: ${report.running} RUNNING, ${report.claimed} CLAIMED`);
  atLeast("of those RUNNING", report.running, 15);
  figure("exit code", report.exitCode, 0);
  figure("CLAIMED or RUNNING by that worker afterwards", report.heldAfterwards, 0);
  figure("what its row says", report.state, "stopped");
  figure("retries spent", report.retriesSpent, 0);
  figure("attempts in the history before the last one", report.interrupted, {
    "ignores-its-signal INTERRUPTED": 5,
    "lets-itself-abort INTERRUPTED": 5,
  });
  figure("all tasks, when another worker has done the rest", report.statuses, { COMPLETED: sent });
  figure("laws broken", report.brokenLaws, []);
}
