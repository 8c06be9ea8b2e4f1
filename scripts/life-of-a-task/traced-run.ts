/**
 * Runs tasks and workflows of two nodes on an embedded PostgreSQL, with the default config. The sender and the worker are
 * processes of their own, as in production, so that the task is claimed after a notification.
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { useEmbeddedPostgres } from "../../packages/embedded/src/embedded-postgres.ts";
import { createThrowawayDatabase } from "../../packages/posthaste/src/store/throwaway-database.ts";
import type { Answer, Order, Trace } from "./messages.ts";
import { makeTracedCopy, type TracedFunction } from "./traced-copy.ts";

/** One window of time, seen from both processes. */
export interface Window {
  readonly sender: Trace;
  readonly worker: Trace;
}

export interface TracedRun {
  /** A call in a trace is a place in this list. */
  readonly functions: readonly TracedFunction[];
  readonly tasks: readonly Window[];
  readonly chains: readonly Window[];
  /** Of the worker, without a task: polls, heartbeats, turns of its loop. */
  readonly idleCalls: readonly number[];
}

/** The first tasks of a process also open sessions and prepare statements. */
const WARM_UPS = 3;
const WINDOWS = 7;
/** Longer than the interval of every poll and heartbeat. */
const IDLE_MS = 6_000;

export async function traceRun(): Promise<TracedRun> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-life-"));
  const server = await useEmbeddedPostgres({
    dir: mkdtempSync(join(tmpdir(), "posthaste-life-server-")),
    disposable: true,
    settings: { track_functions: "all" }, // traced-process.ts reads the counts
  });
  try {
    const functions = makeTracedCopy(folder);
    const database = await createThrowawayDatabase({ serverUrl: server.url, schema: "posthaste" });
    const windows = await traceWindows(folder, database.url);
    await database.drop();
    return { functions, ...windows };
  } finally {
    await server.release();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function traceWindows(
  copy: string,
  url: string,
): Promise<Pick<TracedRun, "tasks" | "chains" | "idleCalls">> {
  const sender = await TracedProcess.start("sender", copy, url);
  const worker = await TracedProcess.start("worker", copy, url);
  const traceEach = async (count: number, run: () => Promise<unknown>): Promise<Window[]> => {
    const windows: Window[] = [];
    for (let n = 0; n < count; n++) {
      await sender.obey("begin");
      await worker.obey("begin");
      await run();
      windows.push({ sender: await sender.obey("end"), worker: await worker.obey("end") });
    }
    return windows;
  };
  try {
    await traceEach(WARM_UPS, () => sender.obey("task"));
    const tasks = await traceEach(WINDOWS, () => sender.obey("task"));
    await traceEach(WARM_UPS, () => sender.obey("chain"));
    const chains = await traceEach(WINDOWS, () => sender.obey("chain"));
    const idle = await traceEach(1, () => pause(IDLE_MS));
    return { tasks, chains, idleCalls: idle.flatMap((window) => window.worker.calls) };
  } finally {
    await Promise.all([sender.stop(), worker.stop()]);
  }
}

class TracedProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(role: "sender" | "worker", copy: string, url: string): Promise<TracedProcess> {
    const program = fileURLToPath(new URL("traced-process.ts", import.meta.url));
    const child = fork(program, [copy, role, url], {
      execArgv: ["--import", import.meta.resolve("tsx")],
    });
    const started = new TracedProcess(child);
    await started.#answer();
    return started;
  }

  async obey(order: Order): Promise<Trace> {
    this.#child.send(order);
    return this.#answer();
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    await exited;
  }

  async #answer(): Promise<Trace> {
    const ended = new AbortController();
    const exited = once(this.#child, "exit", ended).then(([code]) => {
      throw new Error(`a traced process exited with ${String(code)}`);
    });
    exited.catch(() => undefined); // also rejects when the answer has come
    try {
      const [answer] = (await Promise.race([once(this.#child, "message", ended), exited])) as [
        Answer,
      ];
      if ("error" in answer) throw new Error(answer.error);
      return answer;
    } finally {
      ended.abort();
    }
  }
}
