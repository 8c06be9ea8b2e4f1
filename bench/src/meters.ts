/** What a stretch of work cost: CPU of this process and of the server, WAL, statements. */
import { readdirSync, readFileSync } from "node:fs";
import { Redis } from "ioredis";
import pg from "pg";
import type { Site } from "./systems/system.ts";

export interface Cost {
  readonly seconds: number;
  /** Microseconds of CPU, of this process. */
  readonly node: number;
  /** Microseconds of CPU, of the server. */
  readonly server: number;
  readonly walBytes: number;
  /** SQL statements, or Redis commands. */
  readonly statements: number;
}

export interface Meter {
  /**
   * To be called before anything is sent, and not again: a task's life lies between two checkpoints. PostgreSQL logs a
   * page whole when it is first changed after a checkpoint. That is part of what a layout costs, and without a
   * checkpoint here it would by chance fall to one contender and not to another. With one between sending and draining,
   * though, pages that are merely read would be logged whole as well: PostgreSQL 18 has checksums on, so the hint bits
   * that a first reader sets count as a change. In a drain of 20,000 that came to 260 B a task for ours, 109 B for
   * graphile-worker and 165 B for pg-boss, and said something about the moment of the checkpoint, not about a layout.
   */
  checkpoint(): Promise<void>;
  /** Begins a stretch; the function it returns ends it. */
  start(): Promise<() => Promise<Cost>>;
  close(): Promise<void>;
}

export async function openMeter(site: Site, server: "postgres" | "redis"): Promise<Meter> {
  return server === "postgres" ? postgresMeter(site) : redisMeter(site);
}

/** Microseconds a clock tick stands for in /proc: 100 a second everywhere Node runs. */
const TICK_US = 10_000;

async function postgresMeter(site: Site): Promise<Meter> {
  const client = new pg.Client(site.postgresUrl);
  await client.connect();
  await client.query("create extension if not exists pg_stat_statements");
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const postmaster = parentOf(rows[0]?.pid ?? 0);
  const read = async () => {
    const { rows: figures } = await client.query<{ lsn: string; calls: string }>(
      `select pg_current_wal_lsn()::text as lsn,
              (select coalesce(sum(calls), 0) from pg_stat_statements(false)) as calls`,
    );
    return { ...(figures[0] ?? { lsn: "0/0", calls: "0" }), server: treeCpuUs(postmaster) };
  };
  return {
    checkpoint: async () => void (await client.query("checkpoint")),
    async start() {
      const before = await read();
      const node = process.cpuUsage();
      const at = performance.now();
      return async () => {
        const seconds = (performance.now() - at) / 1_000;
        const used = process.cpuUsage(node);
        const after = await read();
        return {
          seconds,
          node: used.user + used.system,
          server: after.server - before.server,
          walBytes: bytesAt(after.lsn) - bytesAt(before.lsn),
          // The meter's own reading is one of them.
          statements: Number(after.calls) - Number(before.calls) - 1,
        };
      };
    },
    close: () => client.end(),
  };
}

async function redisMeter(site: Site): Promise<Meter> {
  const redis = new Redis({ port: site.redisPort });
  const read = async () => {
    const info = await redis.info();
    const field = (name: string): number =>
      Number(new RegExp(`^${name}:(.*)$`, "m").exec(info)?.[1] ?? 0);
    return {
      server: (field("used_cpu_user") + field("used_cpu_sys")) * 1e6,
      statements: field("total_commands_processed"),
    };
  };
  return {
    checkpoint: async () => undefined, // its log has no such thing
    async start() {
      const before = await read();
      const node = process.cpuUsage();
      const at = performance.now();
      return async () => {
        const seconds = (performance.now() - at) / 1_000;
        const used = process.cpuUsage(node);
        const after = await read();
        return {
          seconds,
          node: used.user + used.system,
          server: after.server - before.server,
          walBytes: 0,
          statements: after.statements - before.statements - 1,
        };
      };
    },
    close: async () => void (await redis.quit()),
  };
}

function statOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
}

function parentOf(pid: number): number {
  return Number(statOf(pid)[1]);
}

/** A process with its children, living and waited for. */
function treeCpuUs(root: number): number {
  let ticks = 0;
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    try {
      const stat = statOf(pid);
      if (pid === root) ticks += stat.slice(11, 15).reduce((sum, value) => sum + Number(value), 0);
      else if (Number(stat[1]) === root) ticks += Number(stat[11]) + Number(stat[12]);
    } catch {
      // It ended while we looked: its parent has its time by now.
    }
  }
  return ticks * TICK_US;
}

function bytesAt(lsn: string): number {
  const [high = "0", low = "0"] = lsn.split("/");
  return Number.parseInt(high, 16) * 2 ** 32 + Number.parseInt(low, 16);
}
