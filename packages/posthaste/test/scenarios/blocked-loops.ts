/** Ordinary tasks that keep their worker's event loop from turning, for a while and for ever. */
import { setTimeout as sleep } from "node:timers/promises";
import { waitUntil } from "../support/wait-until.ts";
import { nap, spin } from "./recovery-app.ts";
import { RecoveryStage } from "./recovery-stage.ts";

const config = {
  recovery: {
    crashGraceMs: 1_000,
    runnerHeartbeatIntervalMs: 1_000,
    claimerHeartbeatIntervalMs: 1_000,
    runningStaleThresholdMs: 8_000,
    claimedStaleThresholdMs: 8_000,
    checkIntervalMs: 1_000,
  },
};

export interface BlockedForAWhileReport {
  readonly blockedMs: number;
  readonly listenersEnded: number;
  readonly recoveries: number;
  readonly deaths: number;
  readonly attempts: readonly (number | undefined)[];
  readonly saidBlocked: boolean;
}

/** Blocked for longer than three graces and several heartbeats, while its listener's session is ended again and again. */
export async function blockedForAWhile(url: string): Promise<BlockedForAWhileReport> {
  const blockedMs = 6_000;
  return RecoveryStage.use(url, config, async (stage) => {
    const handle = await stage.app.send(spin, blockedMs);
    const beside = await stage.app.send(nap, 1_000);
    const blocked = await stage.start("--concurrency", "2");
    await stage.line("began", ({ task }) => task === handle.id);
    await stage.start("--concurrency", "2");
    let listenersEnded = 0;
    const isEnded = (): boolean => stage.runs().some(({ what }) => what === "ended");
    for (; !isEnded(); await sleep(500)) {
      const ended = await stage.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'posthaste listener'`,
      );
      listenersEnded += ended.length;
    }
    await handle.value({ timeoutMs: 20_000 });
    await beside.value({ timeoutMs: 20_000 });
    const infos = [await handle.info(), await beside.info()];
    return {
      blockedMs,
      listenersEnded,
      recoveries: await stage.count("recoveries"),
      deaths: await stage.count("workers where state = 'dead'"),
      attempts: infos.map(({ attempts }) => attempts.at(-1)?.attempt),
      saidBlocked: await waitUntil("the worker to say that it was blocked", () =>
        blocked.log.some(({ message }) => String(message).includes("event loop was blocked")),
      ),
    };
  });
}

export interface BlockedForEverReport {
  readonly recoveredAfterMs: number;
  readonly thresholdMs: number;
  readonly error: unknown;
  readonly reason: string;
  /** A task beside it, which could not go on either. */
  readonly besideCompleted: boolean;
}

export async function blockedForEver(url: string): Promise<BlockedForEverReport> {
  return RecoveryStage.use(url, config, async (stage) => {
    const handle = await stage.app.send(spin, 0);
    await stage.start("--concurrency", "2");
    const { at } = await stage.line("began", ({ task }) => task === handle.id);
    await stage.start("--concurrency", "2");
    const result = await handle.result({ timeoutMs: 30_000 });
    const recoveredAfterMs = Date.now() - at;
    const next = await stage.app.send(nap, 1);
    const [recovered] = await stage.app.admin.recoveries.list({ taskId: handle.id });
    return {
      recoveredAfterMs,
      thresholdMs: config.recovery.runningStaleThresholdMs,
      error: result.ok ? undefined : result.error.code,
      reason: recovered?.evidence.reason ?? "none",
      besideCompleted: (await next.result({ timeoutMs: 10_000 })).ok,
    };
  });
}
