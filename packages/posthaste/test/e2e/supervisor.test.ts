/** `posthaste worker --processes n`, with real processes and real signals. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { posthaste, type Posthaste } from "posthaste";
import { afterEach, beforeEach, expect, test } from "vitest";
import { pidOfBody, recordRun, waitForGo } from "../scenarios/worker-app.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { isAlive } from "../support/is-alive.ts";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/worker-process.ts";

const db = useDatabase();
useCleanTables(db);
const workerApp = fileURLToPath(new URL("../scenarios/worker-app.ts", import.meta.url));

let folder: string;
let app: Posthaste;
let supervisor: WorkerProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "posthaste-supervisor-"));
  app = posthaste({ database: db.url, logger: silentLogger });
});

afterEach(async () => {
  supervisor?.kill("SIGKILL"); // its children stop when it is gone
  supervisor = undefined;
  writeFileSync(join(folder, "go"), "");
  await waitUntil("every child to be gone", async () =>
    (await workers()).every(({ pid }) => !isAlive(pid)),
  );
  rmSync(folder, { recursive: true });
  await app.close();
});

async function supervise(processes: number, ...args: string[]): Promise<WorkerProcess> {
  supervisor = await startWorkerProcess({
    app: workerApp,
    args: ["--processes", String(processes), ...args],
    env: { DATABASE_URL: db.url, SCENARIO_FOLDER: folder },
  });
  await children(processes);
  return supervisor;
}

interface WorkerRow {
  readonly pid: number;
  readonly state: string;
}

async function workers(): Promise<WorkerRow[]> {
  return db.sql<WorkerRow>("select pid, state from posthaste.workers order by started_at");
}

/** The pids of the living children, once there are `count` of them. */
async function children(count: number): Promise<number[]> {
  return waitUntil(`${count} children`, async () => {
    const pids = (await workers()).map(({ pid }) => pid).filter(isAlive);
    return pids.length === count && pids;
  });
}

async function runSome(count: number): Promise<void> {
  const handles = await app.sendMany(
    recordRun,
    Array.from({ length: count }, (_, n) => ({ n })),
  );
  for (const handle of handles) await handle.value({ timeoutMs: 30_000 });
}

async function said(words: string, from = supervisor): Promise<Readonly<Record<string, unknown>>> {
  return waitUntil(`"${words}" in the log`, () =>
    from?.log.find(({ message }) => String(message).includes(words)),
  );
}

async function beginOne() {
  const handle = await app.send(waitForGo);
  const pid = await waitUntil("the handler to begin", () => pidOfBody(folder));
  return { handle, pid };
}

test("the supervisor replaces a killed child while tasks go on, and SIGTERM ends all children with 0", async () => {
  const started = await supervise(2);
  const [first = 0, second = 0] = await children(2);
  await runSome(20);

  process.kill(first, "SIGKILL");

  expect(await said("starting another")).toMatchObject({ pid: first, signal: "SIGKILL" });
  const after = await waitUntil("another child", async () => {
    const pids = (await workers()).map(({ pid }) => pid);
    return pids.length === 3 && pids;
  });
  expect(new Set(after).size).toBe(3);
  expect(isAlive(first)).toBe(false);
  expect(isAlive(second)).toBe(true);
  await runSome(20);

  started.kill("SIGTERM");

  expect(await started.exited).toBe(0);
  expect(after.filter(isAlive)).toEqual([]);
  const states = new Map((await workers()).map(({ pid, state }) => [pid, state]));
  expect(after.map((pid) => states.get(pid))).toEqual(
    // Whether its grace is over by now depends on the machine.
    after.map((pid) => (pid === first ? expect.stringMatching(/^(running|dead)$/) : "stopped")),
  );
});

test("the children of a killed supervisor stop by themselves, in good order", async () => {
  const started = await supervise(2);
  const pids = await children(2);

  started.kill("SIGKILL");

  await waitUntil("the children to be gone", () => !pids.some(isAlive));
  expect((await workers()).map(({ state }) => state)).toEqual(["stopped", "stopped"]);
});

test("a child that gets one signal twice, from the terminal and from its supervisor, lets its task end", async () => {
  const started = await supervise(1);
  const { handle, pid } = await beginOne();

  process.kill(pid, "SIGINT"); // as a terminal or a process manager would, which signal the whole group
  started.kill("SIGINT");
  await said("worker stopping");
  // Longer than an aborted handler has before its task is requeued: there is no condition to wait for.
  await sleep(1_500);
  writeFileSync(join(folder, "go"), "");

  expect(await started.exited).toBe(0);
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({ ok: true, value: { pid } });
  expect(readFileSync(join(folder, "begun"), "utf8").trim().split("\n")).toHaveLength(1);
});

test("a second signal makes the children requeue their running tasks at once", async () => {
  const started = await supervise(1);
  const { handle } = await beginOne();

  started.kill("SIGTERM");
  await said("worker stopping");
  started.kill("SIGTERM");

  await said("did not stop when aborted");
  writeFileSync(join(folder, "go"), ""); // the handler itself holds the process
  expect(await started.exited).toBe(0);
  expect(await handle.info()).toMatchObject({ status: "PENDING" });
});

test("the supervisor exits with 1 if a child dies while stopping", async () => {
  const started = await supervise(2);
  const { pid } = await beginOne();

  started.kill("SIGTERM");
  await said("worker stopping");
  process.kill(pid, "SIGKILL");

  expect(await started.exited).toBe(1);
  expect((await workers()).some((row) => isAlive(row.pid))).toBe(false);
});
