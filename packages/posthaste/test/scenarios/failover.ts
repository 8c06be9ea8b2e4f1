/**
 * The primary is lost and a standby that lagged behind is promoted: the server has gone back to a state in which tasks run that
 * their workers have already ended, and all workers lost their sessions at once.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { useEmbeddedPostgres } from "../../../embedded/src/embedded-postgres.ts";
import { startStandby } from "../support/standby.ts";
import { waitUntil } from "../support/wait-until.ts";
import { hold, holdOnce, nap } from "./recovery-app.ts";
import { RecoveryStage } from "./recovery-stage.ts";

const THRESHOLD_MS = 4_000;

const config = {
  resilience: { dbRetryInitialMs: 100, dbRetryMaxMs: 500 },
  recovery: {
    crashGraceMs: 1_000,
    runnerHeartbeatIntervalMs: 1_000,
    claimerHeartbeatIntervalMs: 1_000,
    runningStaleThresholdMs: 60_000,
    checkIntervalMs: 1_000,
  },
  workerRecovery: {
    heartbeatIntervalMs: 1_000,
    sweepIntervalMs: 500,
    sweepThresholdMs: THRESHOLD_MS,
    recoveryDelayMs: 0,
  },
};

export interface FailoverReport {
  /** How often the handlers of the two tasks ran that had ended before the failover. */
  readonly onceRuns: number;
  readonly againRuns: number;
  readonly once: unknown;
  readonly again: unknown;
  readonly reasons: readonly string[];
  /** Of a task that was running on another worker when the primary was lost, and of the workers. */
  readonly besideRuns: number;
  readonly besideCompleted: boolean;
  readonly deaths: number;
  readonly outageMs: number;
  readonly thresholdMs: number;
}

export async function failover(): Promise<FailoverReport> {
  const dir = mkdtempSync(join(tmpdir(), "posthaste-primary-"));
  const primary = await useEmbeddedPostgres({ dir });
  const standby = await startStandby(primary);
  const address = await movingAddress(Number(new URL(primary.url).port));
  const url = new URL(primary.url);
  url.port = String(address.port);
  try {
    return await RecoveryStage.use(url.href, config, async (stage) => {
      await stage.app.migrate();
      // One worker each, so that what runs beside runs on another one.
      await stage.start("--concurrency", "2");
      const [once, again] = [await stage.app.send(holdOnce), await stage.app.send(hold)];
      for (const { id } of [once, again]) await stage.line("began", ({ task }) => task === id);
      await stage.start("--concurrency", "2");
      const beside = await stage.app.send(nap, 25_000);
      await stage.line("began", ({ task }) => task === beside.id);
      await sleep(1_500); // the standby has all of it, and a heartbeat of each
      await standby.stopReplication();
      stage.go();
      await Promise.all([once, again].map((each) => each.value({ timeoutMs: 20_000 })));
      const lostAt = performance.now();
      await address.moveTo(undefined);
      await sleep(2 * THRESHOLD_MS); // longer than workers may be silent
      await standby.promote();
      await address.moveTo(standby.port);
      const outageMs = Math.round(performance.now() - lostAt);
      const results = [
        await once.result({ timeoutMs: 60_000 }),
        await waitUntil(
          "the second run",
          async () => {
            const result = await again.result({ timeoutMs: 1_000 }).catch(() => undefined);
            return result?.ok === true && result;
          },
          60_000,
        ),
      ];
      const besideResult = await beside.result({ timeoutMs: 60_000 });
      const runsOf = (id: string): number =>
        stage.runs().filter(({ what, task }) => what === "began" && task === id).length;
      const recoveries = await stage.app.admin.recoveries.list();
      return {
        onceRuns: runsOf(once.id),
        againRuns: runsOf(again.id),
        once: results[0],
        again: results[1],
        reasons: recoveries.map(({ reason }) => reason),
        besideRuns: runsOf(beside.id),
        besideCompleted: besideResult.ok,
        deaths: await stage.count("workers where state = 'dead'"),
        outageMs,
        thresholdMs: THRESHOLD_MS,
      };
    });
  } finally {
    address.close();
    await standby.remove();
    await primary.release();
    rmSync(dir, { recursive: true, force: true });
  }
}

interface MovingAddress {
  readonly port: number;
  /** Undefined: nothing listens there. */
  moveTo(port: number | undefined): Promise<void>;
  close(): void;
}

/** An address that moves with the primary, as those of managed databases do. */
async function movingAddress(first: number): Promise<MovingAddress> {
  const sockets = new Set<Socket>();
  let target: number | undefined = first;
  const server: Server = createServer((client) => {
    if (target === undefined) return void client.destroy();
    const upstream = connect(target, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    }
    client.pipe(upstream).pipe(client);
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    async moveTo(port) {
      target = port;
      cut();
    },
    close: () => {
      cut();
      server.close();
    },
  };
}
