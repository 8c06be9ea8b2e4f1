/** The server's notification queue is full, because a session listens and never ends its transaction: every write still commits. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { defineWorkflow, posthaste, type Posthaste } from "posthaste";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess } from "../support/worker-process.ts";
import { pidOfBody, recordRun, waitForGo } from "./worker-app.ts";

/** The smallest queue that PostgreSQL allows: 512 kB. The setting is new in version 17. */
export const smallNotificationQueue = { max_notify_queue_pages: 64 } as const;

export interface FullNotificationsReport {
  /** How full the queue was while all of this was done. */
  readonly usage: number;
  /** What a plain pg_notify was refused with. */
  readonly plainNotify: string;
  /** Calls that were refused, and with what. */
  readonly refused: Readonly<Record<string, string>>;
  readonly calls: number;
  /** How what was sent ended, though nobody was notified; tasks in the order of sending. */
  readonly statuses: readonly string[];
}

const workflow = defineWorkflow({
  name: "one-node",
  build: (flow) => flow.node("only", recordRun, { n: 7 }).output,
});

interface Stage {
  readonly app: Posthaste;
  readonly sql: pg.Client;
  readonly folder: string;
  readonly refused: Record<string, string>;
  calls: number;
}

/** @param url of a server with `smallNotificationQueue` */
export async function fullNotifications(url: string): Promise<FullNotificationsReport> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-full-"));
  const clients = [0, 1].map(() => new pg.Client(url));
  const [sql, listener] = clients as [pg.Client, pg.Client];
  for (const client of clients) await client.connect();
  const app = posthaste({ database: url, logger: silentLogger });
  await app.ensureSchema();
  const worker = await startWorkerProcess({
    app: fileURLToPath(new URL("worker-app.ts", import.meta.url)),
    env: { DATABASE_URL: url, SCENARIO_FOLDER: folder },
  });
  try {
    const running = await app.send(waitForGo);
    await waitUntil("a handler to begin", () => pidOfBody(folder) !== undefined);
    const plainNotify = await fillQueue(sql, listener);
    const stage = { app, sql, folder, refused: {}, calls: 0 };
    const ids = await callEverything(stage, running.id);
    const [row] = (
      await sql.query<{ usage: number }>("select pg_notification_queue_usage() as usage")
    ).rows;
    const statuses = await Promise.all(ids.map((id) => statusOf(app, id)));
    return {
      usage: row?.usage ?? 0,
      plainNotify,
      refused: stage.refused,
      calls: stage.calls,
      statuses,
    };
  } finally {
    worker.kill("SIGKILL");
    await worker.exited;
    await app.close();
    await Promise.all(clients.map((client) => client.end()));
    rmSync(folder, { recursive: true });
  }
}

/** A session that listens cannot take notifications inside a transaction, and PostgreSQL keeps them until it has. */
async function fillQueue(sql: pg.Client, listener: pg.Client): Promise<string> {
  await listener.query("listen anything");
  await listener.query("begin");
  await listener.query("select pg_current_xact_id()");
  for (let n = 0; ; n++) {
    try {
      await sql.query("select pg_notify('anything', $1)", [`${n} ${"x".repeat(7_900)}`]);
    } catch (error) {
      return (error as pg.DatabaseError).code ?? String(error);
    }
  }
}

async function callEverything(stage: Stage, runningId: string): Promise<string[]> {
  const { app, sql } = stage;
  const ids: string[] = [];
  const keep = (id: string | undefined): void => {
    if (id !== undefined) ids.push(id);
  };
  keep((await attempt(stage, "app.send", () => app.send(recordRun, { n: 1 })))?.id);
  keep(await attempt(stage, "send()", () => sendInSql(sql)));
  keep(
    await inTransaction(
      stage,
      "send with tx",
      async (tx) => (await app.send(recordRun, { n: 2 }, { tx })).id,
    ),
  );
  await inTransaction(
    stage,
    "start with tx",
    async (tx) => (await app.start(workflow, undefined, { tx })).id,
  );
  await attempt(stage, "app.start", () => app.start(workflow));
  await attempt(stage, "pause", () => app.admin.queues.pause("default"));
  await attempt(stage, "pause_queue()", () => sql.query("select posthaste.pause_queue('other')"));
  await attempt(stage, "resume", () => app.admin.queues.resume("default"));
  const awaited = await app.send(recordRun, { n: 3 }, { delayMs: 3_600_000 });
  const waiting = awaited.result({ timeoutMs: 30_000 });
  await waitUntil(
    "a waiter",
    async () => (await sql.query("select from posthaste.waiters")).rowCount,
  );
  await attempt(stage, "cancel() of a waiting task", () => cancel(sql, awaited.id));
  await attempt(stage, "result() of it", () => waiting);
  keep(awaited.id);
  const failed = await app.send(recordRun, { n: 4 }, { delayMs: 3_600_000 });
  await attempt(stage, "fail()", () => sql.query("select posthaste.fail($1, 'NO')", [failed.id]));
  keep(failed.id);
  const run = await app.start(workflow);
  await attempt(stage, "pause of a run", () => run.pause());
  await attempt(stage, "resume of a run", () => run.resume());
  await attempt(stage, "cancel of a run", () => run.cancel());
  await attempt(stage, "requeue()", () => sql.query("select posthaste.requeue($1)", [runningId]));
  await waitUntil("the task to run again", async () => {
    const { rows } = await sql.query(
      "select from posthaste.tasks where id = $1 and status = 'RUNNING'",
      [runningId],
    );
    return rows.length === 1;
  });
  await attempt(stage, "cancel() of a running task", () => cancel(sql, runningId));
  keep(runningId);
  return ids;
}

async function attempt<Answer>(
  stage: Stage,
  name: string,
  call: () => Promise<Answer>,
): Promise<Answer | undefined> {
  stage.calls++;
  try {
    return await call();
  } catch (error) {
    stage.refused[name] = String(error);
    return undefined;
  }
}

function inTransaction<Answer>(
  stage: Stage,
  name: string,
  call: (tx: pg.Client) => Promise<Answer>,
): Promise<Answer | undefined> {
  return attempt(stage, name, async () => {
    await stage.sql.query("begin");
    try {
      const answer = await call(stage.sql);
      await stage.sql.query("commit");
      return answer;
    } catch (error) {
      await stage.sql.query("rollback");
      throw error;
    }
  });
}

async function sendInSql(sql: pg.Client): Promise<string> {
  const { rows } = await sql.query<{ id: string }>(
    `select posthaste.send('record-run', '{"n": 5}') as id`,
  );
  return rows[0]?.id ?? "none";
}

async function cancel(sql: pg.Client, id: string): Promise<unknown> {
  return sql.query("select posthaste.cancel($1)", [id]);
}

function statusOf(app: Posthaste, id: string): Promise<string> {
  return waitUntil(
    `task ${id} to end`,
    async () => {
      const { status } = await app.task(recordRun, id).info();
      return ["PENDING", "CLAIMED", "RUNNING"].includes(status) ? undefined : status;
    },
    60_000,
  );
}
