/** Clients wait for a task and for a run; the database is replaced by a copy from before both were sent. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { defineTask, defineWorkflow, posthaste, PosthasteError, type Posthaste } from "posthaste";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";

export interface VanishedTasksReport {
  /** What the wait for a task ended with, and the wait for a run. */
  readonly task: string;
  readonly run: string;
  /** What a wait for a task of the copy did meanwhile. */
  readonly kept: string;
  readonly pollEveryMs: number;
  /** From the moment the copy takes connections until both waits have ended. */
  readonly endedAfterMs: number;
}

const nobodyRunsIt = defineTask({ name: "nobody-runs-it" });
const workflow = defineWorkflow({
  name: "nobody-ends-it",
  build: (flow) => {
    flow.node("only", nobodyRunsIt);
  },
});

/** @param serverUrl of the server's maintenance database */
export async function vanishedTasks(
  serverUrl: string,
  pollEveryMs = 1_000,
): Promise<VanishedTasksReport> {
  const name = `vanished_${randomBytes(4).toString("hex")}`;
  const server = new pg.Client(serverUrl);
  await server.connect();
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await server.query(`create database ${name}`);
  const app = posthaste({
    database: url.href,
    logger: silentLogger,
    resilience: { notifyPollIntervalMs: pollEveryMs },
  });
  try {
    return await waitAndReplace(app, server, name, pollEveryMs);
  } finally {
    await app.close();
    for (const database of [name, `${name}_copy`, `${name}_old`])
      await server.query(`drop database if exists ${database} with (force)`);
    await server.end();
  }
}

async function waitAndReplace(
  app: Posthaste,
  server: pg.Client,
  name: string,
  pollEveryMs: number,
): Promise<VanishedTasksReport> {
  const kept = await app.send(nobodyRunsIt);
  await endSessions(server, name);
  await server.query(`create database ${name}_copy template ${name}`);
  await allowSessions(server, name);
  const sent = await app.send(nobodyRunsIt);
  const started = await app.start(workflow);
  const stop = new AbortController();
  const keptEnd = codeOf(kept.result({ signal: stop.signal }));
  const taskEnd = codeOf(sent.result({ timeoutMs: 60_000 }));
  const runEnd = codeOf(started.result({ timeoutMs: 60_000 }));
  await waitUntil("three waits to be registered", async () => (await waiters(server, name)) === 3);

  await endSessions(server, name);
  await server.query(`alter database ${name} rename to ${name}_old`);
  await server.query(`alter database ${name}_copy rename to ${name}`);
  await allowSessions(server, name);
  const replacedAt = performance.now();
  const [task, run] = await Promise.all([taskEnd, runEnd]);
  const endedAfterMs = Math.round(performance.now() - replacedAt);
  stop.abort(new PosthasteError("CLOSED", "it still waits"));
  return { task, run, kept: await keptEnd, pollEveryMs, endedAfterMs };
}

async function waiters(server: pg.Client, name: string): Promise<number> {
  const { user, password, host, port } = server;
  const client = new pg.Client({ user, password: password ?? "", host, port, database: name });
  await client.connect();
  const { rows } = await client.query<{ count: number }>(
    "select count(*)::int as count from posthaste.waiters",
  );
  await client.end();
  return rows[0]?.count ?? 0;
}

async function endSessions(server: pg.Client, name: string): Promise<void> {
  await server.query(`alter database ${name} allow_connections false`);
  await waitUntil("every session to end", async () => {
    const { rowCount } = await server.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1",
      [name],
    );
    return rowCount === 0;
  });
}

async function allowSessions(server: pg.Client, name: string): Promise<void> {
  await server.query(`alter database ${name} allow_connections true`);
}

async function codeOf(waiting: Promise<unknown>): Promise<string> {
  try {
    await waiting;
    return "ended";
  } catch (error) {
    return error instanceof PosthasteError ? error.code : String(error);
  }
}
