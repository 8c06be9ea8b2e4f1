/** Findings about a server, planted on a durable one of its own; on that server, healthy, doctor is silent. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { useEmbeddedPostgres } from "../../../embedded/src/embedded-postgres.ts";
import {
  defineTask,
  posthaste,
  type DoctorOptions,
  type Finding,
  type Posthaste,
} from "../../src/index.ts";
import { runPosthaste } from "../support/command-line.ts";
import { silentLogger } from "../support/loggers.ts";
import { startStandby } from "../support/standby.ts";
import { waitUntil } from "../support/wait-until.ts";

type Server = Awaited<ReturnType<typeof useEmbeddedPostgres>>;

const dir = mkdtempSync(join(tmpdir(), "posthaste-doctor-"));
let server: Server;
let client: pg.Client;
let app: Posthaste;

beforeAll(async () => {
  server = await useEmbeddedPostgres({ dir, settings: { max_prepared_transactions: 5 } });
  client = new pg.Client(server.url);
  await client.connect();
  app = posthaste({
    database: server.url,
    tasks: [defineTask({ name: "greet", run: () => "hello" })],
    logger: silentLogger,
  });
  await app.migrate();
});

afterEach(async () => expect(await app.admin.doctor()).toEqual([]));

afterAll(async () => {
  await app.close();
  await client.end();
  await server.release();
  rmSync(dir, { recursive: true, force: true });
});

async function planted(
  plant: string,
  undo: string,
  options?: DoctorOptions,
): Promise<readonly Finding[]> {
  await client.query(plant);
  const findings = await app.admin.doctor(options);
  await client.query(undo);
  return findings;
}

async function setServer(setting: string, value: string | null): Promise<void> {
  await client.query(
    value === null ? `alter system reset ${setting}` : `alter system set ${setting} = ${value}`,
  );
  await client.query("select pg_reload_conf()");
  await waitUntil(`${setting} to change`, async () => {
    const { rows } = await client.query<{ value: string }>("select current_setting($1) as value", [
      setting,
    ]);
    return (rows[0]?.value === "off") === (value === "off");
  });
}

test("doctor is silent on a healthy server with a worker, and so is the command", async () => {
  const worker = app.worker();
  await worker.start();
  await app.sendMany(
    defineTask({ name: "greet" }),
    Array.from({ length: 500 }, () => null),
  );
  expect(await app.admin.doctor()).toEqual([]);
  const ran = await runPosthaste({ DATABASE_URL: server.url }, "doctor");
  expect(ran).toEqual({ code: 0, stdout: "healthy\n", stderr: "" });
  await worker.stop();
});

test("the command prints findings with their advice and exits with 1 for a problem", async () => {
  await client.query("drop index posthaste.recoveries_time_idx");
  const { code, stdout } = await runPosthaste({ DATABASE_URL: server.url }, "doctor");
  const json = await runPosthaste({ DATABASE_URL: server.url }, "doctor", "--json");
  await client.query("create index recoveries_time_idx on posthaste.recoveries (recovered_at)");
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /^problem {2}OBJECT_MISSING {2}the index posthaste.recoveries_time_idx is missing\n {9}→ create it again: /,
  );
  expect(stdout).toMatch(/\n1 problem, 0 warnings\n$/);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject([{ code: "OBJECT_MISSING", level: "problem" }]);
});

test.each([
  ["autovacuum", "AUTOVACUUM_OFF", "problem"],
  ["track_counts", "AUTOVACUUM_OFF", "problem"],
  ["full_page_writes", "DURABILITY_OFF", "warning"],
  ["fsync", "DURABILITY_OFF", "problem"],
])("a server with %s = off is named", async (setting, code, level) => {
  await setServer(setting, "off");
  const findings = await app.admin.doctor();
  await setServer(setting, null);
  expect(findings).toMatchObject([{ code, level, facts: { setting } }]);
});

test("an inactive replication slot that holds back vacuum or keeps the log is named", async () => {
  const log = await planted(
    "select pg_create_physical_replication_slot('forgotten', true)",
    "select pg_drop_replication_slot('forgotten')",
    { keptLogBytes: 0 },
  );
  expect(log).toMatchObject([
    {
      code: "SLOT_HOLDS_BACK",
      level: "problem",
      message: expect.stringMatching(/inactive replication slot "forgotten" .*write-ahead log/),
      advice: expect.stringContaining("pg_drop_replication_slot('forgotten')"),
    },
  ]);
});

test("a prepared transaction is named", async () => {
  const findings = await planted(
    "begin; create table public.half (); prepare transaction 'half way'",
    "rollback prepared 'half way'",
    { longTransactionMs: 0 },
  );
  expect(findings).toMatchObject([
    { code: "TRANSACTION_PREPARED", level: "problem", facts: { name: "half way" } },
  ]);
});

test("a server without free connections is named", async () => {
  const held: pg.Client[] = [];
  for (let n = 0; n < 180; n++) {
    const other = new pg.Client(server.url);
    await other.connect();
    held.push(other);
  }
  const findings = await app.admin.doctor();
  await Promise.all(held.map((other) => other.end()));
  expect(findings).toMatchObject([{ code: "CONNECTIONS_SHORT", level: "problem" }]);
  const gone = "select from pg_stat_activity where backend_type = 'client backend'";
  await waitUntil("them to be gone", async () => (await client.query(gone)).rows.length < 30);
});

test("a standby that holds back vacuum is named, and a standby itself is no place for tasks", async () => {
  const standby = await startStandby(server, { max_prepared_transactions: 5 });
  const reader = new pg.Client(standby.url);
  await reader.connect();
  try {
    await reader.query("alter system set hot_standby_feedback = on");
    await reader.query("alter system set wal_receiver_status_interval = '1s'");
    await reader.query("select pg_reload_conf()");
    await reader.query("begin isolation level repeatable read; select 1 from posthaste.migrations");
    const held = async (): Promise<Finding[]> => {
      await client.query("create table if not exists public.moved (); drop table public.moved");
      return [...(await app.admin.doctor({ heldBackTransactions: 2 }))];
    };
    await waitUntil("the standby to hold back", async () => (await held()).length > 0);
    expect(await held()).toMatchObject([
      { code: "STANDBY_HOLDS_BACK", level: "warning", facts: { standby: "walreceiver" } },
    ]);

    const wrong = posthaste({ database: standby.url, autoMigrate: false, logger: silentLogger });
    const findings = await wrong.admin.doctor();
    await wrong.close();
    expect(findings[0]).toMatchObject({ code: "SERVER_READ_ONLY", level: "problem" });
  } finally {
    await reader.end();
    await standby.remove();
  }
});
