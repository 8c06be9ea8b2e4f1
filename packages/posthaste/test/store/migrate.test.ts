import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TASK_TERMINAL_STATES, TaskStatus } from "../../src/domain/task-lifecycle.ts";
import { queueChannel } from "../../src/store/channels.ts";
import type { Connection } from "../../src/store/connection.ts";
import { migrate, printMigrations, verifySchema } from "../../src/store/migrate.ts";
import { functionTopics } from "../../src/store/functions.gen.ts";
import { migrations } from "../../src/store/migrations.gen.ts";
import { ownFunctions } from "../../src/store/schema-functions.ts";
import { createStore } from "../../src/store/store.ts";
import { useDatabase } from "../support/database.ts";
import { readCatalogue } from "./catalogue.ts";

const db = useDatabase({ isEmpty: true });
const names = migrations.map(({ name }) => name);
const functions = `functions v${ownFunctions.version}`;
const everything = [...names, functions];

async function connections(count: number): Promise<Connection[]> {
  return Promise.all(Array.from({ length: count }, () => db.connect("reads")));
}

async function appliedTo(schema: string): Promise<string[]> {
  const rows = await db.sql<{ name: string }>(
    `select name from ${schema}.migrations order by name`,
  );
  return rows.map(({ name }) => name);
}

describe("migrate", () => {
  test("applies every migration once when eight processes migrate at once, in twelve rounds", async () => {
    const eight = await connections(8);

    for (let round = 1; round <= 12; round++) {
      const schema = `round_${round}`;
      const applied = await Promise.all(eight.map((connection) => migrate(connection, schema)));

      expect(applied.flat().sort()).toEqual(everything);
      expect(await appliedTo(schema)).toEqual(names);
    }
  });

  test("finds nothing to do the second time and leaves the schema unchanged", async () => {
    const connection = await db.connect("reads");
    expect(await migrate(connection, "twice")).toEqual(everything);
    const before = await readCatalogue(db, "twice");

    expect(await migrate(connection, "twice")).toEqual([]);

    expect(await readCatalogue(db, "twice")).toEqual(before);
  });

  test("leaves nothing behind when a migration fails, and succeeds the next time", async () => {
    const connection = await db.connect("reads");
    await db.sql("create schema obstructed");
    await db.sql("create table obstructed.workers (in_the_way int)");

    await expect(migrate(connection, "obstructed")).rejects.toThrow(/"workers" already exists/);

    const tables = await db.sql("select from pg_tables where schemaname = 'obstructed'");
    expect(tables).toHaveLength(1);
    await db.sql("drop table obstructed.workers");
    expect(await migrate(connection, "obstructed")).toEqual(everything);
  });

  test("verifySchema names every migration of a missing schema, and creates nothing", async () => {
    const connection = await db.connect("reads");

    await expect(verifySchema(connection, "absent")).rejects.toMatchObject({
      code: "SCHEMA_MISMATCH",
      message: expect.stringContaining(`the schema "absent" lacks ${everything.join(", ")};`),
    });

    expect(await db.sql("select from pg_namespace where nspname = 'absent'")).toEqual([]);
  });

  test("verifySchema names only missing parts, and passes a complete schema", async () => {
    const connection = await db.connect("reads");
    await migrate(connection, "partial");
    expect(await verifySchema(connection, "partial")).toEqual({ missing: [], newer: [] });
    const last = names.at(-1);
    await db.sql("delete from partial.migrations where name = $1", [last]);

    await expect(verifySchema(connection, "partial")).rejects.toMatchObject({
      code: "SCHEMA_MISMATCH",
      message: expect.stringContaining(`lacks ${last};`),
    });

    expect(await appliedTo("partial")).toEqual(names.slice(0, -1));
  });

  test("creates two schemas in one database", async () => {
    const connection = await db.connect();
    await migrate(connection, "left_side");
    await migrate(connection, "right_side");

    await db.sql("select left_side.send('one'), left_side.send('two'), right_side.send('three')");

    const claim = async (schema: string): Promise<string[]> => {
      const reply = await createStore(schema).claimAndStart(connection, {
        lanes: [{ queue: "default", priority: 100, mark: -Infinity }],
        limit: 10,
        workerId: "00000000-0000-4000-8000-000000000000",
        leaseMs: 1_000,
      });
      return reply.tasks.map(({ name }) => name).sort();
    };
    expect(await claim("left_side")).toEqual(["one", "two"]);
    expect(await claim("right_side")).toEqual(["three"]);
  });

  test("printMigrations makes the same tables, indexes, constraints, views and functions", async () => {
    const connection = await db.connect("reads");
    await migrate(connection, "by_migrate");

    await db.sql(printMigrations("by_script"));

    const byScript = await readCatalogue(db, "by_script");
    expect(byScript.length).toBeGreaterThan(100);
    expect(byScript).toEqual(await readCatalogue(db, "by_migrate"));
    expect(await migrate(connection, "by_script")).toEqual([]);
  });

  test("printMigrations works the same with a search_path that shadows built-in functions", async () => {
    await migrate(await db.connect("reads"), "in_the_open");
    await db.sql("create schema shadows");
    await db.sql(
      `create function shadows.substr(text, int, int) returns text language sql immutable as $$ select 'shadow' $$;
     create function shadows.clock_timestamp() returns timestamptz language sql as $$ select 'epoch'::timestamptz $$`,
    );

    await db.sql(`set search_path = shadows, pg_catalog; ${printMigrations("in_shadow")}`);
    await db.sql("reset search_path");

    const [row] = await db.sql("select in_shadow.queue_channel('default') as channel");
    expect(row).toEqual({ channel: queueChannel("in_shadow", "default") });
    expect(await readCatalogue(db, "in_shadow")).toEqual(await readCatalogue(db, "in_the_open"));
  });

  test("allows exactly the terminal statuses other than COMPLETED as an outcome", async () => {
    const connection = await db.connect("reads");
    await migrate(connection, "checked");

    const [row] = await db.sql<{ definition: string }>(
      `select pg_get_constraintdef(oid) as definition from pg_constraint
      where conname = 'finished_tasks_outcome' and connamespace = 'checked'::regnamespace`,
    );

    const allowed = [...(row?.definition ?? "").matchAll(/'(\w+)'/g)].map(([, word]) => word ?? "");
    const named = [...TASK_TERMINAL_STATES].filter((status) => status !== "COMPLETED");
    expect(allowed.sort()).toEqual(named.sort());
  });

  test("shows exactly the statuses of the lifecycle in the view", async () => {
    const connection = await db.connect("reads");
    await migrate(connection, "seen");

    const [row] = await db.sql<{ definition: string }>(
      "select pg_get_viewdef('seen.tasks'::regclass) as definition",
    );

    const shown = [...(row?.definition ?? "").matchAll(/'([A-Z]+)'::text AS status/g)];
    const statuses = new Set(shown.map(([, word]) => word ?? ""));
    expect([...statuses].sort()).toEqual(Object.values(TaskStatus).sort());
  });

  test("names a queue's channel the same in SQL and in TypeScript", async () => {
    const connection = await db.connect("reads");
    await migrate(connection, "channels");
    const queues = fc.sample(fc.string({ unit: "grapheme", minLength: 1, maxLength: 100 }), 50);

    const rows = await db.sql<{ channel: string }>(
      "select channels.queue_channel(queue) as channel from unnest($1::text[]) with ordinality as q (queue, n) order by n",
      [queues],
    );

    expect(rows.map(({ channel }) => channel)).toEqual(
      queues.map((queue) => queueChannel("channels", queue)),
    );
  });

  function filesIn(folder: string): { readonly name: string; readonly source: string }[] {
    const place = new URL(`../../${folder}/`, import.meta.url);
    return readdirSync(place)
      .filter((file) => file.endsWith(".sql"))
      .sort()
      .map((file) => ({
        name: file.replace(/\.sql$/, ""),
        source: readFileSync(new URL(file, place), "utf8"),
      }));
  }

  test("embeds the SQL of the files in migrations/ and functions/", () => {
    const stated = filesIn("migrations").map((file) => {
      const [, oldestLibrary] = /^-- oldest library: (\S+)\n/.exec(file.source) ?? [];
      return { ...file, oldestLibrary };
    });

    expect(migrations).toEqual(stated);
    expect(functionTopics.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual(
      filesIn("functions"),
    );
  });
});
