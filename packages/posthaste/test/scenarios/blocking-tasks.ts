/** A worker process whose blocking tasks spin, never end, leave the process or eat its memory: only they may suffer. */
import { fileURLToPath } from "node:url";
import { posthaste, type Posthaste } from "posthaste";
import { silentLogger } from "../support/loggers.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/worker-process.ts";
import {
  exitProcess,
  hoardMemory,
  lagFor,
  measureLag,
  spinFor,
  spinForEver,
  stamp,
  stampOnThread,
  type Lag,
} from "./blocking-app.ts";

export interface LagReport {
  /** In the worker process, beside the spinning task. */
  readonly worker: Lag & { readonly isSameProcess: boolean };
  /** In this process at the same time: what the machine itself takes. */
  readonly idle: Lag;
}

export interface TimeoutReport {
  /** How the tasks that never end ended. */
  readonly codes: readonly string[];
  /** From each timeout to the moment when the only slot ran the next task. */
  readonly nextAfterMs: readonly number[];
  /** The same, where the next task needs a thread: the old one is gone, so a new one must load the app's file. */
  readonly nextOnThreadAfterMs: number;
}

export interface DeathReport {
  /** `CODE: message` */
  readonly exit: string;
  readonly memory: string;
  /** Tasks that ran beside them, on a thread and in the worker, and ended well. */
  readonly survivors: number;
  /** Whether the same process ran tasks before and after. */
  readonly isSameProcess: boolean;
}

const timeoutMs = 60_000;

/** How late the event loop of a worker is while a blocking task of its spins. */
export function spinningTask(url: string, spinMs: number): Promise<LagReport> {
  return withWorker(url, ["--concurrency", "2"], async (app, { pid }) => {
    const measuring = await app.send(measureLag, spinMs + 500); // the thread's start included
    const spinning = await app.send(spinFor, spinMs);
    const idle = await lagFor(spinMs);
    await spinning.value({ timeoutMs });
    const { pid: measuredIn, ...lag } = await measuring.value({ timeoutMs });
    return { worker: { ...lag, isSameProcess: measuredIn === pid }, idle };
  });
}

export function endlessTasks(url: string, times: number): Promise<TimeoutReport> {
  return withWorker(url, ["--concurrency", "1"], async (app) => {
    const codes: string[] = [];
    const after = async (next: typeof stamp | typeof stampOnThread): Promise<number> => {
      const endless = await app.send(spinForEver);
      const waiting = await app.send(next);
      const result = await endless.result({ timeoutMs });
      codes.push(result.ok ? "none" : result.error.code);
      const { at } = await waiting.value({ timeoutMs });
      const { startedAt } = await endless.info();
      return at - (Number(startedAt) + (spinForEver.timeoutMs ?? NaN));
    };
    await (await app.send(stampOnThread)).value({ timeoutMs }); // a thread is there
    const nextAfterMs: number[] = [];
    for (let n = 0; n < times; n++) nextAfterMs.push(await after(stamp));
    return { nextAfterMs, nextOnThreadAfterMs: await after(stampOnThread), codes };
  });
}

export function dyingTasks(url: string): Promise<DeathReport> {
  return withWorker(url, ["--concurrency", "5", "--threads", "4"], async (app, { pid }) => {
    const survivors = [await app.send(spinFor, 2_000), await app.send(measureLag, 2_000)];
    const exit = await app.send(exitProcess, 3);
    const hoard = await app.send(hoardMemory);
    const [exitEnd, hoardEnd, ...others] = await Promise.all(
      [exit, hoard, ...survivors].map((handle) => handle.result({ timeoutMs })),
    );
    const after = [await app.send(stamp), await app.send(stampOnThread)];
    const stamps = await Promise.all(after.map((handle) => handle.value({ timeoutMs })));
    return {
      exit: describe(exitEnd),
      memory: describe(hoardEnd),
      survivors: others.filter(({ ok }) => ok).length,
      isSameProcess: stamps.every((stamped) => stamped.pid === pid),
    };
  });
}

interface Ended {
  readonly ok: boolean;
  readonly error?: { readonly code: string; readonly message: string };
}

function describe(result: Ended | undefined): string {
  return result?.error === undefined ? "none" : `${result.error.code}: ${result.error.message}`;
}

async function withWorker<Report>(
  url: string,
  args: readonly string[],
  use: (app: Posthaste, worker: WorkerProcess) => Promise<Report>,
): Promise<Report> {
  const app = posthaste({ database: url, logger: silentLogger });
  const worker = await startWorkerProcess({
    app: fileURLToPath(new URL("blocking-app.ts", import.meta.url)),
    args,
    // Little, so that it is soon used up.
    env: { DATABASE_URL: url, NODE_OPTIONS: "--max-old-space-size=96" },
  });
  try {
    return await use(app, worker);
  } finally {
    worker.kill("SIGKILL");
    await worker.exited;
    await app.close();
  }
}
