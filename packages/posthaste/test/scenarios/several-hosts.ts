/** A URL with two hosts, the standby first: everything goes to the primary, and after a failover to the standby that was promoted. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { posthaste } from "posthaste";
import { silentLogger } from "../support/loggers.ts";
import { startStandby } from "../support/standby.ts";
import { startStoppableServer } from "../support/stoppable-server.ts";
import { startWorkerProcess } from "../support/worker-process.ts";
import { noteInTransaction } from "./failover-app.ts";

export interface SeveralHostsReport {
  readonly completedBefore: number;
  /** Names of our sessions on the primary, sorted; of those on the standby there must be none. */
  readonly onPrimary: readonly string[];
  readonly onStandby: readonly string[];
  readonly completedAfter: number;
  /** From the end of the promotion until the first task after it was completed. */
  readonly backAfterMs: number;
  /** Rows that the tasks have written, on the server that was promoted. */
  readonly notes: number;
}

const command = fileURLToPath(new URL("../../bin/posthaste.js", import.meta.url));

export async function severalHosts(tasks = 20): Promise<SeveralHostsReport> {
  const primary = await startStoppableServer({ settings: { max_connections: 300 } });
  try {
    const standby = await startStandby(primary);
    try {
      return await failOver(primary, standby, tasks);
    } finally {
      await standby.remove();
    }
  } finally {
    await primary.remove();
  }
}

async function failOver(
  primary: Awaited<ReturnType<typeof startStoppableServer>>,
  standby: Awaited<ReturnType<typeof startStandby>>,
  tasks: number,
): Promise<SeveralHostsReport> {
  const url = bothHosts(standby.url, primary.url);
  await query(primary.url, "create table notes (n integer not null)");
  execFileSync(process.execPath, [command, "migrate", "--database", url], { stdio: "pipe" });
  const worker = await startWorkerProcess({
    app: fileURLToPath(new URL("failover-app.ts", import.meta.url)),
    env: { DATABASE_URL: url },
  });
  const app = posthaste({ database: url, logger: silentLogger });
  try {
    const sendAll = async (): Promise<number> => {
      const numbers = Array.from({ length: tasks }, (_, n) => n);
      const handles = await app.sendMany(noteInTransaction, numbers);
      const ends = await Promise.all(handles.map((each) => each.result({ timeoutMs: 60_000 })));
      return ends.filter(({ ok }) => ok).length;
    };
    const completedBefore = await sendAll();
    const onPrimary = await sessions(primary.url);
    const onStandby = await sessions(standby.url);
    await standby.catchUp();
    await primary.stopAtOnce();
    await standby.promote();
    const promotedAt = performance.now();
    const first = await app.send(noteInTransaction, -1);
    const end = await first.result({ timeoutMs: 60_000 });
    const backAfterMs = Math.round(performance.now() - promotedAt);
    const completedAfter = (await sendAll()) + (end.ok ? 1 : 0);
    const [row] = await query(standby.url, "select count(*)::int as count from notes");
    return {
      completedBefore,
      onPrimary,
      onStandby,
      completedAfter,
      backAfterMs,
      notes: Number(row?.["count"]),
    };
  } finally {
    worker.kill("SIGKILL");
    await worker.exited;
    await app.close();
  }
}

function bothHosts(first: string, second: string): string {
  const hosts = [first, second].map((each) => new URL(each).host).join(",");
  const { username, password, pathname } = new URL(first);
  return `postgres://${username}:${password}@${hosts}${pathname}?target_session_attrs=read-write`;
}

async function sessions(url: string): Promise<string[]> {
  const rows = await query(
    url,
    "select distinct application_name as name from pg_stat_activity where application_name like 'posthaste%' order by 1",
  );
  return rows.map(({ name }) => String(name));
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
