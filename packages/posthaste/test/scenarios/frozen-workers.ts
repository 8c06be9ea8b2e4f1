/** Workers that are frozen with SIGSTOP, for less and for more than the thresholds. */
import { setTimeout as sleep } from "node:timers/promises";
import { waitUntil } from "../support/wait-until.ts";
import { hold, nap } from "./recovery-app.ts";
import { RecoveryStage } from "./recovery-stage.ts";

export interface ShortFreezeReport {
  readonly tasks: number;
  readonly recoveries: number;
  readonly deaths: number;
  readonly completedAtFirst: number;
}

/** Freezes a worker with default thresholds that holds running and fetched tasks, beside one that could take them. */
export async function shortFreeze(url: string, frozenMs: number): Promise<ShortFreezeReport> {
  // Three are fetched ahead. Their lease is as long as the other thresholds: with its default of 60 s it is over when the worker
  // wakes up, and whether somebody has looked by then is chance.
  const config = { prefetchBuffer: 3, claimLeaseMs: 120_000 };
  return RecoveryStage.use(url, config, async (stage) => {
    const frozen = await stage.start("--concurrency", "3");
    const naps = await stage.app.sendMany(
      nap,
      Array.from({ length: 6 }, () => frozenMs / 2),
    );
    await waitUntil("three to run", () => stage.runs().length >= 3);
    await stage.start("--concurrency", "10");
    frozen.kill("SIGSTOP");
    await sleep(frozenMs);
    frozen.kill("SIGCONT");
    const attempts = await Promise.all(
      naps.map((handle) => handle.value({ timeoutMs: 2 * frozenMs + 60_000 })),
    );
    return {
      tasks: attempts.length,
      recoveries: await stage.count("recoveries"),
      deaths: await stage.count("workers where state = 'dead'"),
      completedAtFirst: attempts.filter((attempt) => attempt === 1).length,
    };
  });
}

export interface LongFreezeReport {
  readonly result: unknown;
  readonly resultAfterwards: unknown;
  readonly outcomes: readonly string[];
  readonly reason: unknown;
  /** What the zombie wrote after it was woken, by what it tried. */
  readonly heartbeats: number;
  readonly progress: unknown;
  readonly children: number;
  readonly childRefused: boolean;
  readonly zombieSaid: readonly string[];
  readonly worksOn: unknown;
}

/** Freezes a worker beyond its thresholds; its task is taken over and completed; then it wakes up. */
export async function longFreeze(url: string): Promise<LongFreezeReport> {
  const recovery = {
    runnerHeartbeatIntervalMs: 1_000,
    claimerHeartbeatIntervalMs: 1_000,
    runningStaleThresholdMs: 3_000,
    claimedStaleThresholdMs: 3_000,
    checkIntervalMs: 1_000,
  };
  return RecoveryStage.use(url, { recovery }, async (stage) => {
    const handle = await stage.app.send(hold);
    const zombie = await stage.start();
    const { id } = handle;
    await stage.line("began", ({ task }) => task === id);
    const [claim] = await stage.sql<{ claim_id: string }>(
      "select claim_id from posthaste.active_tasks where task_id = $1",
      [id],
    );
    const owner = await stage.start();
    zombie.kill("SIGSTOP");
    const result = await handle.result({ timeoutMs: 30_000 });
    const beats = (): Promise<number> =>
      stage.count(`heartbeats where claim_id = '${claim?.claim_id}'`);
    const beatsBefore = await beats();
    stage.go();
    zombie.kill("SIGCONT");
    const refused = await waitUntil("the zombie to have tried", () =>
      stage.runs().find(({ what }) => what.startsWith("child ")),
    );
    await sleep(2_500); // longer than two heartbeats
    // It goes on: the other one stops, and what is sent now is the former zombie's.
    owner.kill("SIGTERM");
    await owner.exited;
    const next = await stage.app.send(nap, 1);
    const info = await handle.info();
    const [recovered] = await stage.app.admin.recoveries.list({ taskId: id });
    return {
      result,
      worksOn: await next.result({ timeoutMs: 30_000 }),
      resultAfterwards: await handle.result({ timeoutMs: 30_000 }),
      outcomes: info.attempts.map(({ attempt, outcome }) => `${attempt} ${outcome}`),
      reason: recovered?.reason,
      heartbeats: (await beats()) - beatsBefore,
      progress: await handle.progress(),
      children: await stage.count("submissions where name = 'child'"),
      childRefused: refused.what === "child refused",
      zombieSaid: zombie.log
        .map(({ message }) => String(message))
        .filter((message) => /claim lost|other workers may take|declared dead/.test(message)),
    };
  });
}
