/** Tasks that never let the event loop of their worker turn again: what becomes of the task, and of the process. */
import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { isAlive } from "../support/is-alive.ts";
import { waitUntil } from "../support/wait-until.ts";
import type { WorkerProcess } from "../support/worker-process.ts";
import { nap, spin, spinAgain } from "./recovery-app.ts";
import { RecoveryStage } from "./recovery-stage.ts";

const config = {
  recovery: {
    crashGraceMs: 1_000,
    runnerHeartbeatIntervalMs: 1_000,
    claimerHeartbeatIntervalMs: 1_000,
    runningStaleThresholdMs: 4_000,
    claimedStaleThresholdMs: 4_000,
    checkIntervalMs: 1_000,
  },
};
/** For what takes several thresholds on a busy machine. */
const PATIENCE_MS = 90_000;

export interface HungReport {
  readonly error: string | undefined;
  readonly attempts: number;
  /** Why, as the last row in `recoveries` says. */
  readonly reason: string;
  /** How the hung process exited, where there is no supervisor. */
  readonly exit: number | string | undefined;
  /** Of the processes that hung, those that are still there. */
  readonly hungAlive: number;
  /** Of the processes that work now. */
  readonly workersAlive: number;
  /** From the task's verdict to the end of a task that was sent then. */
  readonly nextTaskMs: number;
  /** The tasks that the last line of each hung process names. */
  readonly namedInLog: readonly string[];
  /** Where the last line says that the loop is. */
  readonly stack: readonly string[];
  readonly taskId: string;
  readonly graceMs: number;
  readonly stoppedAfterMs: number;
}

const GRACE_MS = 2_000;

/** One task that blocks whatever runs it, on two processes under a supervisor. */
export async function hungUnderSupervisor(url: string, onCrash: "policy" | "requeue") {
  return RecoveryStage.use(url, config, async (stage) => {
    const { app } = stage;
    const supervisor = await stage.start("--processes", "2", ...oneSlot);
    const handle = onCrash === "requeue" ? await app.send(spinAgain) : await app.send(spin, 0);
    return report(stage, { handle, supervisor, exit: undefined });
  });
}

/** The same on a process of its own; another one is started when it is gone, as systemd or Kubernetes would. */
export async function hungAlone(url: string, onCrash: "policy" | "requeue") {
  return RecoveryStage.use(url, config, async (stage) => {
    const { app } = stage;
    const handle = onCrash === "requeue" ? await app.send(spinAgain) : await app.send(spin, 0);
    let worker = await stage.start(...oneSlot);
    const exit = await worker.exited;
    for (;;) {
      worker = await stage.start(...oneSlot);
      const over = await Promise.race([handle.result({ timeoutMs: PATIENCE_MS }), worker.exited]);
      if (typeof over === "object") break;
    }
    return report(stage, { handle, supervisor: worker, exit });
  });
}

/** SIGTERM to a supervisor while a task blocks each of its processes, long before the threshold. */
export async function hungAndTerminated(url: string) {
  const recovery = { ...config.recovery, runningStaleThresholdMs: 60_000 };
  return RecoveryStage.use(url, { recovery }, async (stage) => {
    const handles = await stage.app.sendMany(spin, [0, 0]);
    const supervisor = await stage.start("--processes", "2", ...oneSlot);
    for (const { id } of handles) await stage.line("began", ({ task }) => task === id);
    const pids = stage.runs().map(({ pid }) => pid);
    const { stoppedAfterMs, exit } = await terminate(supervisor);
    const killed = supervisor.log.filter(({ message }) => String(message).includes("SIGKILL"));
    return {
      stoppedAfterMs,
      exit,
      graceMs: GRACE_MS,
      killedInLog: killed.map(({ pid }) => pid),
      pids,
      alive: pids.filter(isAlive),
    };
  });
}

/** A debugger is attached for longer than the limit, and then detached. */
export async function hungWhileDebugged(url: string) {
  return RecoveryStage.use(url, config, async (stage) => {
    const worker = await stage.startWith({ NODE_OPTIONS: "--inspect=0" }, ...oneSlot);
    const inspectorUrl = await waitUntil("the inspector to listen", () => {
      const line = worker.log.find(({ message }) => /Debugger listening/.test(String(message)));
      return /ws:\S+/.exec(String(line?.["message"]))?.[0];
    });
    const detach = await attachDebugger(inspectorUrl);
    await stage.app.send(spin, 0);
    const limitMs = config.recovery.runningStaleThresholdMs;
    const { loopBlockedMs, state } = await waitUntil(
      "the loop to be blocked for twice the limit",
      async () => {
        const [row] = await stage.app.admin.workers.list();
        return row !== undefined && row.loopBlockedMs > 2 * limitMs && row;
      },
      PATIENCE_MS,
    );
    const aliveWhileAttached = isAlive(worker.pid);
    detach();
    return { loopBlockedMs, state, aliveWhileAttached, exit: await worker.exited };
  });
}

/** No more of a debugger than its connection. */
function attachDebugger(inspectorUrl: string): Promise<() => void> {
  const { hostname, port, pathname } = new URL(inspectorUrl);
  const headers = {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
  };
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, path: pathname, headers });
    asked.once("upgrade", (_answer, socket) => resolve(() => socket.destroy()));
    asked.once("error", reject);
    asked.end();
  });
}

/** `onBlocked: "report"`: blocked for twice the limit, and then free again. */
export async function hungAndReported(url: string) {
  return RecoveryStage.use(url, config, async (stage) => {
    const worker = await stage.start("--on-blocked", "report", ...oneSlot);
    await stage.app.send(spin, 2 * config.recovery.runningStaleThresholdMs);
    await stage.line("ended", () => true);
    const next = await stage.app.send(nap, 1);
    const worksOn = await next.result({ timeoutMs: PATIENCE_MS });
    const pid = await waitUntil("the next heartbeat of the worker", async () => {
      const [row] = await stage.app.admin.workers.list();
      return row?.state === "running" && row.pid;
    });
    return {
      reports: worker.log.filter(({ message }) =>
        String(message).startsWith("event loop blocked;"),
      ),
      worksOn: worksOn.ok,
      isSameProcess: pid === worker.pid,
    };
  });
}

const oneSlot = ["--concurrency", "1", "--shutdown-grace-ms", String(GRACE_MS)];

interface Hung {
  readonly handle: Awaited<ReturnType<RecoveryStage["app"]["send"]>>;
  readonly supervisor: WorkerProcess;
  readonly exit: number | string | undefined;
}

async function report(
  stage: RecoveryStage,
  { handle, supervisor, exit }: Hung,
): Promise<HungReport> {
  const result = await handle.result({ timeoutMs: PATIENCE_MS });
  const verdictAt = Date.now();
  const next = await stage.app.send(nap, 1);
  await next.value({ timeoutMs: PATIENCE_MS });
  const nextTaskMs = Date.now() - verdictAt;
  const hung = stage.runs().filter(({ task }) => task === handle.id);
  const hungAlive = await waitUntil(
    "hung processes to be gone",
    () => !hung.some(({ pid }) => isAlive(pid)),
    PATIENCE_MS,
  );
  const wanted = exit === undefined ? 2 : 1;
  const workersAlive = await waitUntil(
    "successors",
    async () => {
      const rows = await stage.app.admin.workers.list();
      const alive = rows.filter(({ state, pid }) => state === "running" && isAlive(pid));
      return alive.length === wanted && alive.length;
    },
    PATIENCE_MS,
  );
  const [recovered] = await stage.app.admin.recoveries.list({ taskId: handle.id });
  const { attempts } = await handle.info();
  const lines = stage.workers
    .flatMap(({ log }) => log)
    .filter(({ message }) => String(message).startsWith("event loop blocked; ending"));
  const { stoppedAfterMs } = await terminate(supervisor);
  return {
    error: result.ok ? undefined : result.error.code,
    attempts: attempts.length,
    reason: recovered?.evidence.reason ?? "none",
    exit,
    hungAlive: hungAlive ? 0 : hung.length,
    workersAlive,
    nextTaskMs,
    namedInLog: lines.flatMap(({ tasks }) => (tasks as { id: string }[]).map(({ id }) => id)),
    stack: (lines[0]?.["stack"] ?? []) as string[],
    taskId: handle.id,
    graceMs: GRACE_MS,
    stoppedAfterMs,
  };
}

async function terminate(worker: WorkerProcess) {
  const askedAt = Date.now();
  worker.kill("SIGTERM");
  const exit = await worker.exited;
  return { stoppedAfterMs: Date.now() - askedAt, exit };
}
