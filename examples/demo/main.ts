/**
 * `npm run demo`: an embedded PostgreSQL, two worker processes, a few hundred tasks of every fate, one worker killed
 * half-way, missed and recovered; then the books are compared: the database's against the ledger that the handlers wrote outside it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { TASK_TERMINAL_STATES, type TaskStatus } from "posthaste";
import { audit } from "./audit.ts";
import { draw, tell, type Counts } from "./progress.ts";
import { Killing } from "./killing.ts";
import { startWorker, type WorkerProcess } from "./worker-process.ts";

const DEADLINE_MS = 50_000;

const schema = `demo_${Date.now().toString(36)}`;
const folder = mkdtempSync(join(tmpdir(), "posthaste-demo-"));
// Before the app is loaded, here and in the workers.
process.env["DEMO_SCHEMA"] = schema;
process.env["DEMO_LEDGER"] = folder;
const { app } = await import("./app.ts");
const { sendEverything } = await import("./load.ts");

const startedAt = Date.now();
const workers: WorkerProcess[] = [];
let exitCode = 1;
try {
  exitCode = await demo();
} catch (error) {
  console.error(error);
} finally {
  for (const worker of workers) worker.kill("SIGTERM");
  await Promise.all(workers.map((worker) => worker.exited));
  await app.close();
}
if (exitCode === 0) rmSync(folder, { recursive: true });
else console.error(`logs and ledger are kept in ${folder}`);
process.exitCode = exitCode;

async function demo(): Promise<number> {
  await app.ensureSchema();
  const client = new pg.Client(app.databaseUrl);
  await client.connect();
  try {
    tell("two workers start, and the tasks are sent:");
    workers.push(startWorker("worker-1", folder), startWorker("worker-2", folder));
    const handles = await sendEverything();
    await watch(client, handles.length);
    const { lines, lost, finishedTwice, problems } = await audit(client, schema, folder, handles);
    for (const line of lines) console.log(line);
    for (const problem of problems) console.error(`  problem: ${problem}`);
    await client.query(`drop schema ${schema} cascade`);
    console.log(`  it took ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
    console.log(
      `posthaste demo: ${handles.length} tasks, ${lost} lost, ${finishedTwice} finished twice`,
    );
    return lost + finishedTwice + problems.length === 0 ? 0 : 1;
  } finally {
    await client.end();
  }
}

/** Draws until everything has ended; half-way, one worker is killed. */
async function watch(client: pg.Client, total: number): Promise<void> {
  const [first] = workers;
  const killing = new Killing(client, schema);
  for (;;) {
    const counts = await count(client);
    const ended = TASK_TERMINAL_STATES.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
    draw(counts, total);
    await killing.look();
    if (ended >= total) return;
    if (Date.now() - startedAt > DEADLINE_MS)
      return tell("this takes too long; counting what there is");
    if (!killing.isDone && first !== undefined && ended > total / 2) await killing.kill(first);
    await sleep(150);
  }
}

async function count(client: pg.Client): Promise<Counts> {
  const { rows } = await client.query<{ status: TaskStatus; count: string }>(
    `select status, count(*) from ${schema}.tasks group by status`,
  );
  return Object.fromEntries(rows.map(({ status, count: n }) => [status, Number(n)]));
}
