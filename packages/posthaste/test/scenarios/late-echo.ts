/**
 * A worker process starts while the network is slow: the echo of its listener's first notification comes seconds late. It
 * must listen as soon as the echo is there, and say no more than it knows.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { posthaste, type AppConfig } from "posthaste";
import { startFaultProxy, type Fault } from "../support/fault-proxy.ts";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess } from "../support/worker-process.ts";
import { nap } from "./recovery-app.ts";

export interface LateEchoReport {
  /** How late the first echo was. */
  readonly echoLateMs: number;
  /** From the start of the worker until it was woken by a notification. Its poll comes after a minute. */
  readonly wokenAfterMs: number;
  /** What the worker said about its notifications. */
  readonly said: readonly string[];
}

const ECHO_LATE_MS = 4_000;
/** A notification as the server sends it: with the name of a channel. */
const NOTIFICATION = /ph_[0-9a-f]{32}/;

export async function lateEcho(url: string): Promise<LateEchoReport> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-echo-"));
  const { hostname, port } = new URL(url);
  let isFirst = true;
  const proxy = await startFaultProxy({
    target: { host: hostname, port: Number(port) },
    toServer: () => "none",
    toClient: (bytes): Fault => {
      if (!isFirst || !NOTIFICATION.test(bytes.toString("latin1"))) return "none";
      isFirst = false;
      return { delayMs: ECHO_LATE_MS };
    },
  });
  const sessionUrl = new URL(url);
  sessionUrl.port = String(proxy.port);
  const config: AppConfig = {
    database: { url, sessionUrl: sessionUrl.href },
    resilience: { notifyPollIntervalMs: 60_000 },
  };
  await using app = posthaste({ database: url, logger: silentLogger });
  await app.ensureSchema();
  const worker = await startWorkerProcess({
    app: fileURLToPath(new URL("recovery-app.ts", import.meta.url)),
    args: ["--concurrency", "1"],
    env: { SCENARIO_FOLDER: folder, SCENARIO_CONFIG: JSON.stringify(config) },
  });
  const said = (): string[] =>
    worker.log
      .map(({ message }) => String(message))
      .filter((message) => /notification|pooler|listener/.test(message));
  const startedAt = performance.now();
  try {
    await waitUntil("the echo to be delayed", () => !isFirst);
    // A task that is sent earlier may be found by the worker's first look at its queues.
    await waitUntil("the worker to miss the echo", () => said().length > 0);
    const handle = await app.send(nap, 0);
    await handle.value({ timeoutMs: 120_000 });
    return {
      echoLateMs: ECHO_LATE_MS,
      wokenAfterMs: Math.round(performance.now() - startedAt),
      said: said(),
    };
  } finally {
    worker.kill("SIGKILL");
    await worker.exited;
    await proxy.close();
    rmSync(folder, { recursive: true });
  }
}
