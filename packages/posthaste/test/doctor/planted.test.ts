/** Each finding of doctor, planted for real in a database of its own; the server is that of all tests. */
import { expect, test } from "vitest";
import pg from "pg";
import {
  defineSchedule,
  defineTask,
  posthaste,
  type DoctorOptions,
  type Finding,
} from "../../src/index.ts";
import { createLoginRoles, dropLoginRoles, urlOfRole } from "../support/login-roles.ts";
import { addWorker } from "../recovery/recovery-kit.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";

const db = useDatabase();
useCleanTables(db);

/** The server of tests is fast instead of durable, which doctor says. */
async function examine(options?: DoctorOptions): Promise<Finding[]> {
  return withoutServer(await db.app().admin.doctor(options));
}

function withoutServer(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ code }) => code !== "DURABILITY_OFF");
}

/** Runs `during` with the plant in place, and shows that doctor is silent before and after. */
async function planted(
  plant: string,
  undo: string,
  options?: DoctorOptions,
): Promise<readonly Finding[]> {
  expect(await examine(options)).toEqual([]);
  await db.sql(plant);
  try {
    return await examine(options);
  } finally {
    await db.sql(undo);
    expect(await examine(options)).toEqual([]);
  }
}

test("a missing index is named with its definition", async () => {
  const findings = await planted(
    "drop index posthaste.recoveries_time_idx",
    "create index recoveries_time_idx on posthaste.recoveries (recovered_at)",
  );
  expect(findings).toMatchObject([
    {
      code: "OBJECT_MISSING",
      level: "problem",
      message: "the index posthaste.recoveries_time_idx is missing",
      advice: expect.stringContaining(
        "CREATE INDEX recoveries_time_idx ON posthaste.recoveries USING btree (recovered_at);",
      ),
    },
  ]);
});

test("an index on other columns is named", async () => {
  const findings = await planted(
    `drop index posthaste.recoveries_time_idx;
     create index recoveries_time_idx on posthaste.recoveries (recovered_at, id)`,
    `drop index posthaste.recoveries_time_idx;
     create index recoveries_time_idx on posthaste.recoveries (recovered_at)`,
  );
  expect(findings).toMatchObject([{ code: "OBJECT_CHANGED", level: "warning" }]);
});

test("an index whose build was interrupted is named", async () => {
  // A unique index on equal values fails, and "concurrently" leaves it behind.
  await db.sql("create table posthaste.twins as select 1 as id from generate_series(1, 2)");
  await db
    .sql("create unique index concurrently twins_idx on posthaste.twins (id)")
    .catch(() => undefined);
  const findings = await examine();
  await db.sql("drop table posthaste.twins");
  expect(findings).toMatchObject([
    { code: "INDEX_INVALID", level: "problem", facts: { index: "twins_idx" } },
  ]);
  expect(await examine()).toEqual([]);
});

test("a replaced function is named, and so is a dropped one", async () => {
  const [own] = await db.sql<{ text: string }>(
    "select pg_get_functiondef('posthaste.current_timeline()'::regprocedure) as text",
  );
  const changed = (own?.text ?? "").replace("$function$", "$function$ -- by hand\n");
  const findings = await planted(changed, own?.text ?? "");
  expect(findings).toMatchObject([
    {
      code: "OBJECT_CHANGED",
      level: "problem",
      message: expect.stringContaining("the function posthaste.current_timeline() differs"),
    },
  ]);
  const dropped = await planted(
    "drop function posthaste.merge_notifications(jsonb, jsonb)",
    (
      await db.sql<{ text: string }>(
        "select pg_get_functiondef('posthaste.merge_notifications(jsonb, jsonb)'::regprocedure) as text",
      )
    )[0]?.text ?? "",
  );
  expect(dropped).toMatchObject([{ code: "OBJECT_MISSING", facts: { kind: "function" } }]);
});

test("a changed column, a dropped constraint and a missing table are named; its parts are not", async () => {
  const column = await planted(
    "alter table posthaste.queues alter paused_at set default now()",
    "alter table posthaste.queues alter paused_at drop default",
  );
  expect(column).toMatchObject([
    { code: "OBJECT_CHANGED", facts: { kind: "column", name: "queues.paused_at" } },
  ]);
  const table = await planted(
    "alter table posthaste.server_timelines set schema public",
    "alter table public.server_timelines set schema posthaste",
  );
  expect(table.filter(({ code }) => code === "OBJECT_MISSING")).toMatchObject([
    { facts: { kind: "table", name: "server_timelines" } },
  ]);
});

test("autovacuum that is disabled for a table is named", async () => {
  const findings = await planted(
    "alter table posthaste.ready_tasks set (autovacuum_enabled = off)",
    "alter table posthaste.ready_tasks reset (autovacuum_enabled)",
  );
  expect(findings).toMatchObject([{ code: "AUTOVACUUM_OFF", facts: { table: "ready_tasks" } }]);
});

test("a schema that is behind is named", async () => {
  await db.sql(
    "create table public.kept as select * from posthaste.migrations where name like '0003%'",
  );
  const findings = await planted(
    "delete from posthaste.migrations where name like '0003%'",
    "insert into posthaste.migrations select * from public.kept; drop table public.kept",
  );
  expect(findings).toMatchObject([
    { code: "SCHEMA_BEHIND", level: "problem", facts: { missing: ["0003_workflows"] } },
  ]);
});

test("a schema that is newer is told about, and not compared", async () => {
  const findings = await planted(
    `insert into posthaste.migrations (name, oldest_library) values ('9999_future', '0.0.1');
     drop index posthaste.recoveries_time_idx`,
    `delete from posthaste.migrations where name = '9999_future';
     create index recoveries_time_idx on posthaste.recoveries (recovered_at)`,
  );
  expect(findings).toMatchObject([{ code: "SCHEMA_NEWER", level: "info" }]);
});

test("an app without any schema is told to migrate", async () => {
  const app = posthaste({ database: db.url, schema: "elsewhere", logger: silentLogger });
  const findings = withoutServer(await app.admin.doctor());
  await app.close();
  expect(findings).toMatchObject([{ code: "SCHEMA_ABSENT", level: "problem" }]);
  expect(await db.sql("select from pg_namespace where nspname = 'elsewhere'")).toEqual([]);
});

test("a role that may not create schemas is told that nothing was compared, and what it does not see", async () => {
  await createLoginRoles((text) => db.sql(text), "posthaste");
  try {
    const app = posthaste({
      database: urlOfRole(db.url, "posthaste", "reader"),
      autoMigrate: false,
      logger: silentLogger,
    });
    const findings = withoutServer(await app.admin.doctor());
    await app.close();
    expect(findings.map(({ code, level }) => `${level} ${code}`)).toEqual([
      "info SCHEMA_NOT_COMPARED",
      "info SESSIONS_HIDDEN",
    ]);
  } finally {
    await dropLoginRoles((text) => db.sql(text), "posthaste");
  }
});

test("a session that is idle in a transaction is named with its process", async () => {
  const client = new pg.Client({ connectionString: db.url, application_name: "forgetful" });
  await client.connect();
  await client.query("begin isolation level repeatable read; select 1 from posthaste.submissions");
  const findings = await examine({ longTransactionMs: 0 });
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  await client.end();
  expect(findings).toMatchObject([
    {
      code: "TRANSACTION_OPEN",
      level: "problem",
      advice: expect.stringContaining(`pg_terminate_backend(${rows[0]?.pid})`),
      facts: { application: "forgetful", state: "idle in transaction" },
    },
  ]);
  expect(await examine()).toEqual([]);
});

test("a default of the role is named: as a warning where our sessions do not set it themselves", async () => {
  const findings = await planted(
    "alter role current_user in database " +
      new URL(db.url).pathname.slice(1) +
      " set enable_indexscan = off",
    `alter role current_user in database ${new URL(db.url).pathname.slice(1)} reset all`,
  );
  expect(findings).toMatchObject([
    { code: "ROLE_DEFAULT", level: "warning", facts: { name: "enable_indexscan" } },
  ]);
  const name = new URL(db.url).pathname.slice(1);
  const overridden = await planted(
    `alter database ${name} set statement_timeout = '7min'`,
    `alter database ${name} reset all`,
  );
  expect(overridden).toMatchObject([
    { code: "ROLE_DEFAULT", level: "info", facts: { setBy: "database", value: "7min" } },
  ]);
});

test("dead rows that vacuum has not removed are counted", async () => {
  await db.sql("alter table posthaste.ready_tasks set (autovacuum_enabled = off)");
  await db.sql(`insert into posthaste.ready_tasks (task_id, priority, queue)
    select gen_random_uuid(), 1, 'dead' from generate_series(1, 3000)`);
  await db.sql("delete from posthaste.ready_tasks where queue = 'dead'");
  const dead = async (): Promise<Finding[]> =>
    (await examine({ deadRows: 3_000 })).filter(({ code }) => code === "DEAD_ROWS");
  await waitUntil("the statistics to count them", async () => (await dead()).length > 0);
  expect(await dead()).toMatchObject([{ level: "warning", facts: { table: "ready_tasks" } }]);
  await db.sql("alter table posthaste.ready_tasks reset (autovacuum_enabled)");
  await db.sql("vacuum posthaste.ready_tasks");
  await waitUntil("vacuum to be counted", async () => (await dead()).length === 0);
});

test("a table that is many times larger than its rows is named", async () => {
  await db.sql("alter table posthaste.ready_tasks set (autovacuum_enabled = off)");
  await db.sql(`insert into posthaste.ready_tasks (task_id, priority, queue)
    select gen_random_uuid(), 1, 'bulky' from generate_series(1, 20000)`);
  await db.sql("delete from posthaste.ready_tasks where queue = 'bulky'");
  const bloat = async (): Promise<Finding[]> =>
    (await examine({ bloatBytes: 1_000_000 })).filter(({ code }) => code === "BLOAT");
  await waitUntil("the statistics to see it", async () => (await bloat()).length > 0);
  expect(await bloat()).toMatchObject([{ facts: { table: "ready_tasks" } }]);
  await db.sql("alter table posthaste.ready_tasks reset (autovacuum_enabled)");
  await db.sql("vacuum full posthaste.ready_tasks");
  expect(await bloat()).toEqual([]);
});

test("a queue that no worker serves is named if tasks wait in it", async () => {
  await db.sql("select posthaste.send('mail', queue => 'lonely')");
  expect(await examine()).toMatchObject([
    { code: "QUEUE_UNSERVED", level: "problem", facts: { queue: "lonely" } },
  ]);
  await addWorker(db, { queues: ["lonely"], silentMs: 0 });
  expect(await examine()).toEqual([]);
});

test("a name that no worker knows is named with the number of its tasks", async () => {
  const app = db.app({ unknownTaskGraceMs: 1_000 });
  await addWorker(db, { queues: ["default"], taskNames: ["mail"], startedMs: 60_000 });
  await db.sql("select posthaste.send('mial') from generate_series(1, 3)");
  const find = async (): Promise<Finding[]> => withoutServer(await app.admin.doctor());
  await waitUntil("the grace to pass", async () => (await find()).length > 0);
  expect(await find()).toMatchObject([
    { code: "NAME_UNKNOWN", level: "problem", facts: { name: "mial", count: 3 } },
  ]);
});

test("a stale and a blocked worker are named", async () => {
  const stale = await addWorker(db, { silentMs: 60_000 });
  const blocked = await addWorker(db, { silentMs: 0, loopBlockedMs: 9_000 });
  const findings = await examine({ staleAfterMs: 30_000 });
  expect(findings.map(({ code, facts }) => [code, facts["id"]])).toEqual(
    expect.arrayContaining([
      ["WORKER_STALE", stale],
      ["WORKER_BLOCKED", blocked],
    ]),
  );
  expect(findings).toHaveLength(2);
});

test("disabled recovery is named: that of living workers, else that of the app", async () => {
  const off = { recovery: { autoFailStaleRunning: false } };
  const app = db.app({ ...off, tasks: [defineTask({ name: "mail", run: () => null })] });
  const expected = { code: "RECOVERY_OFF", facts: { setting: "recovery.autoFailStaleRunning" } };
  expect(withoutServer(await app.admin.doctor())).toMatchObject([expected]);

  const worker = app.worker({ name: "careless" });
  await worker.start();
  const find = async (): Promise<Finding[]> =>
    (await examine()).filter(({ code }) => code === "RECOVERY_OFF");
  await waitUntil("the worker to store its config", async () => (await find()).length > 0);
  expect(await find()).toMatchObject([{ message: expect.stringContaining("for careless") }]);
  await worker.stop();
});

test("too few connections for the workers there are", async () => {
  await addWorker(db, { silentMs: 0 });
  await db.sql("update posthaste.workers set concurrency = 10000");
  const app = db.app();
  const wide = posthaste({
    database: { url: db.url, poolSize: 1_000 },
    logger: silentLogger,
    autoMigrate: false,
  });
  expect(withoutServer(await app.admin.doctor())).toEqual([]);
  const findings = withoutServer(await wide.admin.doctor());
  await wide.close();
  expect(findings).toMatchObject([
    { code: "CONNECTIONS_SHORT", level: "warning", facts: { workers: 1, needed: 1_011 } },
  ]);
});

test("a schedule that is late, orphaned or was paused after failures is named", async () => {
  const app = db.app();
  const task = defineTask({ name: "mail", run: () => null });
  const reports = ["late", "orphaned", "failing", "well"].map((name) =>
    defineSchedule({ name, task, daily: { at: "02:30" } }),
  );
  for (const schedule of reports) await app.admin.schedules.upsert(schedule);
  expect(await examine()).toEqual([]);
  await db.sql(
    "update posthaste.schedules set due_at = now() - interval '5 minutes' where name = 'late'",
  );
  await db.sql(
    "update posthaste.schedules set owner = 'code', listed_at = now() - interval '1 hour' where name = 'orphaned'",
  );
  await db.sql(
    "update posthaste.schedules set paused_at = now(), paused_by = 'failures', last_error = 'boom' where name = 'failing'",
  );
  const findings = await examine();
  await db.sql("delete from posthaste.schedules");
  expect(findings.map(({ code, facts }) => [code, facts["schedule"]])).toEqual([
    ["SCHEDULE_PAUSED", "failing"],
    ["SCHEDULE_LATE", "late"],
    ["SCHEDULE_ORPHANED", "orphaned"],
  ]);
});

test("doctor refuses unknown options", async () => {
  await expect(db.app().admin.doctor({ deadRow: 1 } as object)).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
    message: expect.stringContaining('did you mean "deadRows"?'),
  });
});
