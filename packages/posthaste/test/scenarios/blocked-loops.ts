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

const LISTENERS = `
  select pid from pg_stat_activity
   where datname = current_database() and application_name = 'posthaste listener'`;

/** In two steps: as one more condition, it would be asked of the sessions of other databases too. */
const END_LISTENERS = `
  with found as materialized (${LISTENERS}) select pid, pg_terminate_backend(pid) from found`;

export interface BlockedForAWhileReport {
  readonly blockedMs: number;
  readonly listenersEnded: number;
  /** Of the worker that was blocked. */
  readonly itsListenerEnded: boolean;
  readonly recoveries: number;
  readonly deaths: number;
  readonly attempts: readonly (number | undefined)[];
  readonly saidBlocked: boolean;
}

/** Blocked for longer than three graces and several heartbeats, while its listener's session is ended again and again. */
export async function blockedForAWhile(url: string): Promise<BlockedForAWhileReport> {
  const blockedMs = 6_000;
  return RecoveryStage.use(url, config, async (stage) => {
    const blocked = await stage.start("--concurrency", "2");
    // Once its loop is blocked it opens no session: its listener must be there before.
    const [listener] = await waitUntil("the worker's listener", async () => {
      const found = await stage.sql<{ pid: number }>(LISTENERS);
      return found.length > 0 && found;
    });
    const beside = await stage.app.send(nap, 1_000);
    const handle = await stage.app.send(spin, blockedMs);
    await stage.line("began", ({ task }) => task === handle.id);
    const other = stage.start("--concurrency", "2"); // on a busy machine it starts after the loop turns again
    const ended = new Set<number>();
    const isEnded = (): boolean => stage.runs().some(({ what }) => what === "ended");
    for (; !isEnded(); await sleep(500)) {
      const sessions = await stage.sql<{ pid: number }>(END_LISTENERS);
      for (const { pid } of sessions) ended.add(pid);
    }
    await other;
    await handle.value({ timeoutMs: 30_000 });
    await beside.value({ timeoutMs: 30_000 });
    const infos = [await handle.info(), await beside.info()];
    return {
      blockedMs,
      listenersEnded: ended.size,
      itsListenerEnded: listener !== undefined && ended.has(listener.pid),
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
    const result = await handle.result({ timeoutMs: 60_000 });
    const recoveredAfterMs = Date.now() - at;
    const next = await stage.app.send(nap, 1);
    const [recovered] = await stage.app.admin.recoveries.list({ taskId: handle.id });
    return {
      recoveredAfterMs,
      thresholdMs: config.recovery.runningStaleThresholdMs,
      error: result.ok ? undefined : result.error.code,
      reason: recovered?.evidence.reason ?? "none",
      besideCompleted: (await next.result({ timeoutMs: 30_000 })).ok,
    };
  });
}
