/** No worker can write a heartbeat for longer than the sweep threshold: nobody is gone, and nobody may think so. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { nap } from "./recovery-app.ts";
import { RecoveryStage } from "./recovery-stage.ts";

const SWEEP_THRESHOLD_MS = 2_000;

export interface LockedHeartbeatsReport {
  readonly lockedMs: number;
  readonly thresholdMs: number;
  readonly tasks: number;
  /** How often a handler began. */
  readonly handlerRuns: number;
  readonly completed: number;
  readonly recoveries: number;
  readonly deaths: number;
}

export async function lockedHeartbeats(url: string): Promise<LockedHeartbeatsReport> {
  const config = {
    recovery: { runnerHeartbeatIntervalMs: 1_000, claimerHeartbeatIntervalMs: 1_000 },
    workerRecovery: {
      heartbeatIntervalMs: 500,
      sweepIntervalMs: 500,
      sweepThresholdMs: SWEEP_THRESHOLD_MS,
      recoveryDelayMs: 0,
    },
  };
  const lockedMs = 5 * SWEEP_THRESHOLD_MS;
  return RecoveryStage.use(url, config, async (stage) => {
    for (let n = 0; n < 3; n++) await stage.start("--concurrency", "2");
    // Longer than the lock: when the heartbeats come back, all six still run.
    const handles = await stage.app.sendMany(nap, Array<number>(6).fill(lockedMs + 5_000));
    for (const { id } of handles) await stage.line("began", ({ task }) => task === id);
    await sleep(2 * SWEEP_THRESHOLD_MS); // sweeps judge by now
    await withLock(url, () => sleep(lockedMs));
    const results = await Promise.all(handles.map((each) => each.result({ timeoutMs: 60_000 })));
    return {
      lockedMs,
      thresholdMs: SWEEP_THRESHOLD_MS,
      tasks: handles.length,
      handlerRuns: stage.runs().filter(({ what }) => what === "began").length,
      completed: results.filter(({ ok }) => ok).length,
      recoveries: await stage.count("recoveries"),
      deaths: await stage.count("workers where state = 'dead'"),
    };
  });
}

async function withLock(url: string, use: () => Promise<unknown>): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query("begin");
    await client.query("lock table posthaste.heartbeats in access exclusive mode");
    await use();
    await client.query("commit");
  } finally {
    await client.end();
  }
}
