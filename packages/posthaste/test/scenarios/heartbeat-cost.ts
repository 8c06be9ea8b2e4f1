/** What heartbeats cost: of 5,000 running tasks, of workers that have nothing to do, and of the one that looks after them. */
import { setTimeout as sleep } from "node:timers/promises";
import { waitUntil } from "../support/wait-until.ts";
import { nap } from "./recovery-app.ts";
import { RecoveryStage } from "./recovery-stage.ts";

export interface BusyReport {
  readonly running: number;
  readonly intervals: number;
  /** Each statement has a time of its own. */
  readonly statements: number;
  readonly heartbeats: number;
}

/** Statements that write the heartbeats of this many running tasks. */
export async function busyHeartbeats(
  url: string,
  running: number,
  intervals: number,
): Promise<BusyReport> {
  const intervalMs = 2_000;
  const recovery = { runnerHeartbeatIntervalMs: intervalMs, runningStaleThresholdMs: 60_000 };
  return RecoveryStage.use(url, { recovery }, async (stage) => {
    await stage.app.sendMany(
      nap,
      Array.from({ length: running }, () => 600_000),
    );
    await stage.start("--concurrency", String(running));
    const wasSent = `heartbeats group by task_id having count(*) > 1`;
    await waitUntil(
      "all tasks to have two heartbeats",
      async () => {
        const [row] = await stage.sql<{ count: number }>(
          `select count(*)::int from (select from posthaste.${wasSent}) as task`,
        );
        return row?.count === running;
      },
      60_000,
    );
    const [{ now } = { now: "" }] = await stage.sql<{ now: string }>("select now()::text as now");
    await sleep(intervals * intervalMs);
    const [row] = await stage.sql<{ statements: number; heartbeats: number }>(
      `select count(distinct sent_at)::int as statements, count(*)::int as heartbeats
         from posthaste.heartbeats where role = 'runner' and sent_at > $1 and sent_at <= $1::timestamptz + $2 * interval '1 ms'`,
      [now, intervals * intervalMs],
    );
    return { running, intervals, statements: 0, heartbeats: 0, ...row };
  });
}

export interface IdleReport {
  /** Statements a second, of each worker process. */
  readonly leader: number;
  readonly others: readonly number[];
}

/** Transactions of workers that have nothing to do; each has a database user of its own, so that they can be told apart. */
export async function idleWorkers(url: string, seconds: number): Promise<IdleReport> {
  return RecoveryStage.use(url, {}, async (stage) => {
    await stage.sql("create extension if not exists pg_stat_statements");
    const names = ["idle_one", "idle_two", "idle_three"];
    for (const name of names) {
      await stage.sql(`create role ${name} login superuser password '${name}'`);
      await stage.startAs(name);
    }
    await sleep(10_000);
    const before = await calls(stage, names);
    await sleep(seconds * 1_000);
    const after = await calls(stage, names);
    const rates = names.map((name) => ((after.get(name) ?? 0) - (before.get(name) ?? 0)) / seconds);
    const [leader = 0, ...others] = rates.sort((a, b) => b - a);
    return { leader, others };
  });
}

async function calls(stage: RecoveryStage, names: readonly string[]): Promise<Map<string, number>> {
  const rows = await stage.sql<{ rolname: string; calls: number }>(
    `select rolname, sum(calls)::float8 as calls from pg_stat_statements join pg_roles on pg_roles.oid = userid
      where rolname = any ($1) group by rolname`,
    [names],
  );
  return new Map(rows.map((row) => [row.rolname, row.calls]));
}
