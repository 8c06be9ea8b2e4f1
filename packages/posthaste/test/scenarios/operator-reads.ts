/** How long the calls take that operators and dashboards make again and again, in a database with a million ended tasks. */
import pg from "pg";
import { posthaste } from "../../src/index.ts";
import { fillSchema, taskId, type Sizes } from "../plans/million-rows.ts";
import { silentLogger } from "../support/loggers.ts";

/** 100,000 due, 1,000 delayed, a million ended, 2,000 under way. */
const sizes: Sizes = { due: 100_000, ready: 101_000, finished: 1_101_000, all: 1_103_000 };
const CALLS = 40;

export interface ReadTimes {
  readonly call: string;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

/** @param url a database with the schema of this version and nothing in it */
export async function operatorReads(url: string): Promise<readonly ReadTimes[]> {
  await fill(url);
  const app = posthaste({ database: url, logger: silentLogger });
  const { admin } = app;
  const { tasks, queues, workers } = admin;
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    "tasks.list()": () => tasks.list(),
    "tasks.list PENDING": () => tasks.list({ status: "PENDING" }),
    "tasks.list PENDING of a queue": () => tasks.list({ status: "PENDING", queue: "default" }),
    "tasks.list RUNNING": () => tasks.list({ status: "RUNNING" }),
    "tasks.list COMPLETED": () => tasks.list({ status: "COMPLETED" }),
    "tasks.list COMPLETED of a rare name": () => tasks.list({ status: "COMPLETED", name: "rare" }),
    "tasks.list FAILED": () => tasks.list({ status: "FAILED" }),
    "tasks.list FAILED of a name": () => tasks.list({ status: "FAILED", name: "some-task" }),
    "tasks.list FAILED with a code": () => tasks.list({ status: "FAILED", errorCode: "BROKEN" }),
    "tasks.list FAILED of a worker": () => tasks.list({ status: "FAILED", worker: "w" }),
    "tasks.explain of the last in line": () => tasks.explain(taskId(99_999)),
    "tasks.timeline of a failed task": () => tasks.timeline(taskId(1_100_000)),
    "stats of 15 minutes": () => admin.stats(),
    "stats of a day": () => admin.stats({ spanMs: 86_400_000 }),
    "stats of 31 days": () => admin.stats({ spanMs: 31 * 86_400_000 }),
    "queues.list": () => queues.list(),
    "workers.list": () => workers.list(),
  };
  try {
    const times: ReadTimes[] = [];
    for (const [call, ask] of Object.entries(calls)) times.push({ call, ...(await timesOf(ask)) });
    return times;
  } finally {
    await app.close();
  }
}

async function timesOf(ask: () => Promise<unknown>): Promise<Omit<ReadTimes, "call">> {
  await ask(); // the plan is made
  const times: number[] = [];
  for (let call = 0; call < CALLS; call++) {
    const startedAt = performance.now();
    await ask();
    times.push(performance.now() - startedAt);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number =>
    Math.round((times[Math.ceil(share * CALLS) - 1] ?? 0) * 10) / 10;
  return { p50Ms: at(0.5), p95Ms: at(0.95) };
}

async function fill(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const sql = async <Row extends object>(text: string): Promise<Row[]> =>
      (await client.query<Row>(text)).rows;
    await fillSchema({ sql }, "posthaste", sizes);
    await sql(
      `update posthaste.finished_tasks set name = 'some-task', queue = 'default' where status is not null`,
    );
    // As 20 task names leave them: days of a month, hours of 8 days, minutes of 2 hours, and the parts of 10 workers.
    for (const [covers, step, span, workers] of [
      ["day", "1 day", "31 days", 1],
      ["hour", "1 hour", "8 days", 1],
      ["minute", "1 minute", "2 hours", 1],
      ["part", "30 seconds", "3 minutes", 10],
    ] as const)
      await sql(`
        insert into posthaste.rollups (starts_at, covers, name, queue, completed, failed, wait, run)
        select date_trunc('minute', at), '${covers}', 'task-' || n, 'default', 100, 1,
               array_fill(3, array[20]), array_fill(2, array[30])
          from generate_series(now() - interval '${span}', now(), interval '${step}') as at,
               generate_series(1, 20) as n, generate_series(1, ${workers})`);
    await sql("vacuum analyze");
  } finally {
    await client.end();
  }
}
