/**
 * The limit of PostgreSQL itself: the moves of a task on tables like ours, by pgbench, on the server that everybody is
 * measured on. No client library, no JavaScript, no wake-ups, no fences: what is left is what these statements cost.
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import pg from "pg";
import { openMeter, type Cost, type Meter } from "./meters.ts";
import type { Figures } from "./phases.ts";
import { onPath, requireProgram } from "./programs.ts";
import type { Result } from "./results.ts";
import type { Site } from "./systems/system.ts";

export interface Limit {
  readonly name: string;
  /** In `limits/`. */
  readonly script: string;
  readonly clients: number;
  /** A transaction of the script. */
  readonly rows: number;
  /** Rows in the line before it begins. */
  readonly line?: number;
  /** What of ours makes the same move. */
  readonly ours?: { readonly who: string; readonly phase: string; readonly metric: string };
}

const drain = { phase: "drain, concurrency 100", metric: "tasks/s" };

export const limits: readonly Limit[] = [
  { name: "limits: select 1, 1 client", script: "select.sql", clients: 1, rows: 1 },
  {
    name: "limits: send 1 a statement, 16 clients",
    script: "send.sql",
    clients: 16,
    rows: 1,
    ours: { who: "posthaste/default", phase: "sends, 16 callers", metric: "sends/s" },
  },
  {
    name: "limits: send 1,000 a statement, 2 clients",
    script: "bulk.sql",
    clients: 2,
    rows: 1_000,
    ours: { who: "posthaste/default", phase: "bulk of 100,000", metric: "sends/s" },
  },
  {
    name: "limits: claim and finish 100, 2 clients",
    script: "claim-finish.sql",
    clients: 2,
    rows: 100,
    line: 1_000_000,
    ours: { who: "posthaste/default", ...drain },
  },
  {
    name: "limits: claim and finish 500, 2 clients",
    script: "claim-finish.sql",
    clients: 2,
    rows: 500,
    line: 1_000_000,
    ours: { who: "posthaste/tuned", ...drain },
  },
];

const SECONDS = 5;
const folder = fileURLToPath(new URL("../limits/", import.meta.url));

export async function runLimit(site: Site, limit: Limit, repetition: number): Promise<Result[]> {
  const client = new pg.Client(site.postgresUrl);
  await client.connect();
  const meter = await openMeter(site, "postgres");
  try {
    const figures = await measure(client, meter, site, limit);
    const common = { system: "postgresql", config: "raw", phase: limit.name, repetition };
    return Object.entries(figures).map(([metric, value]) => ({ ...common, metric, value }));
  } finally {
    // Else its vacuum would fall into somebody else's sample.
    await client.query("drop schema if exists bench_limits cascade");
    await meter.close();
    await client.end();
  }
}

async function measure(
  client: pg.Client,
  meter: Meter,
  site: Site,
  { name, script, clients, rows, line = 0 }: Limit,
): Promise<Figures> {
  await client.query(readFileSync(`${folder}setup.sql`, "utf8"));
  await meter.checkpoint();
  if (line > 0) {
    await client.query("select bench_limits.fill($1)", [line]);
    await client.query("analyze bench_limits.ready_tasks");
  }
  const stop = await meter.start();
  const running = pgbench(site, [
    `--file=${folder}${script}`,
    `--client=${clients}`,
    `--define=rows=${rows}`,
  ]);
  const run = await (line > 0 ? keepingTidy(client, running) : running);
  const cost = await stop();
  const moved = run.transactions * rows;
  if (line === 0) return perRow(moved, run.seconds, cost);
  const { rows: counted } = await client.query<{ count: number }>(
    "select count(*)::integer as count from bench_limits.finished_tasks",
  );
  const finished = counted[0]?.count ?? 0;
  if (finished === moved) return perRow(moved, run.seconds, cost);
  // The end of the run found nothing left to claim: its rate would be a mixture of claims and of looking in vain.
  console.error(`${name} ran dry: ${line} rows are too few for this machine`);
  return { "rows, then ran dry": finished };
}

/**
 * Claims walk over the entries of what was claimed before, until a vacuum takes them out of the index: without one, a
 * claim of 100 took some 40 % longer over four seconds than over one. So the tables are vacuumed every second, and that is
 * part of the cost.
 */
async function keepingTidy<Value>(client: pg.Client, work: Promise<Value>): Promise<Value> {
  const isOver = work.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([isOver, sleep(1_000, false)])))
    await client.query("vacuum bench_limits.ready_tasks, bench_limits.active_tasks");
  return work;
}

function perRow(rows: number, seconds: number, cost: Cost): Figures {
  return {
    "rows/s": rows / seconds,
    "server µs": cost.server / rows,
    "WAL B": cost.walBytes / rows,
  };
}

async function pgbench(
  site: Site,
  args: readonly string[],
): Promise<{ transactions: number; seconds: number }> {
  const { hostname, port, username, password, pathname } = new URL(site.postgresUrl);
  const threads = `--jobs=${cpus().length}`;
  const { stdout } = await promisify(execFile)(
    requirePgbench(),
    // pgbench wants no more threads than clients, and takes care of that itself.
    ["--no-vacuum", "--protocol=prepared", `--time=${SECONDS}`, threads, ...args],
    {
      env: {
        PGHOST: hostname,
        PGPORT: port,
        PGUSER: decodeURIComponent(username),
        PGPASSWORD: decodeURIComponent(password),
        PGDATABASE: pathname.slice(1),
      },
      timeout: 60_000,
    },
  );
  const transactions = Number(/actually processed: (\d+)/.exec(stdout)?.[1]);
  const rate = Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]);
  if (!(transactions > 0 && rate > 0)) throw new Error(`pgbench said:\n${stdout}`);
  // Its clients end the transaction they are in, so the stretch is a little longer than was asked for.
  return { transactions, seconds: transactions / rate };
}

/** Debian has it in the server's package, outside of the PATH; the `pgbench` on the PATH is a script that picks one. */
export function requirePgbench(): string {
  return requireProgram("pgbench", "postgresql", () => debianPgbench() ?? onPath("pgbench"));
}

/** The newest. */
function debianPgbench(): string | undefined {
  const folders = "/usr/lib/postgresql";
  if (!existsSync(folders)) return undefined;
  return readdirSync(folders)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => `${folders}/${version}/bin/pgbench`)
    .find((path) => existsSync(path));
}
