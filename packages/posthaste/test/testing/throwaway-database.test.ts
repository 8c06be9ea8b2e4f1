/** The databases that test files get: copied, dropped, and swept up after a process that was killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createThrowawayDatabase } from "../../src/store/throwaway-database.ts";
import { waitUntil } from "../support/wait-until.ts";

const serverUrl = inject("serverUrl");
let admin: pg.Client;

beforeAll(async () => {
  admin = new pg.Client(serverUrl);
  await admin.connect();
});

afterAll(() => admin.end());

async function exists(url: string): Promise<boolean> {
  const name = new URL(url).pathname.slice(1);
  const { rows } = await admin.query("select from pg_database where datname = $1", [name]);
  return rows.length > 0;
}

test("is there, migrated, until it is dropped, whoever is connected", async () => {
  const database = await createThrowawayDatabase({ serverUrl, schema: "posthaste" });
  const client = new pg.Client(database.url);
  client.on("error", () => undefined); // it will be thrown out
  await client.connect();
  const { rows } = await client.query("select count(*)::int as tasks from posthaste.tasks");

  expect(rows).toEqual([{ tasks: 0 }]);
  await database.drop();
  expect(await exists(database.url)).toBe(false);
});

test("has the schema that was asked for; null is an empty database", async () => {
  const elsewhere = await createThrowawayDatabase({ serverUrl, schema: "elsewhere" });
  const empty = await createThrowawayDatabase({ serverUrl, schema: null });
  const schemas = async (url: string) => {
    const client = new pg.Client(url);
    await client.connect();
    const { rows } = await client.query(
      "select nspname from pg_namespace where nspname in ('posthaste', 'elsewhere')",
    );
    await client.end();
    return rows;
  };

  expect(await schemas(elsewhere.url)).toEqual([{ nspname: "elsewhere" }]);
  expect(await schemas(empty.url)).toEqual([]);
  await Promise.all([elsewhere.drop(), empty.drop()]);
});

test("many at once are made, also when none finds a template", async () => {
  const schema = "made_at_once";
  const made = await Promise.all(
    Array.from({ length: 6 }, () => createThrowawayDatabase({ serverUrl, schema })),
  );

  expect(new Set(made.map(({ url }) => url)).size).toBe(6);
  for (const { url } of made) expect(await exists(url)).toBe(true);
  await Promise.all(made.map((database) => database.drop()));
});

test("what a killed process left is dropped by the next one; what a living one uses is not", async () => {
  const living = await createThrowawayDatabase({ serverUrl, schema: "posthaste" });
  const program = fileURLToPath(new URL("./killed-process.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", program, serverUrl], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const left = line.toString().trim();
  expect(await exists(left)).toBe(true);

  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await exists(left)).toBe(true);
  // The server notices by itself that its sessions are over, a moment later.
  await waitUntil("the leftover to be dropped", async () => {
    await createThrowawayDatabase({ serverUrl, schema: null }).then((next) => next.drop());
    return !(await exists(left));
  });

  expect(await exists(living.url)).toBe(true);
  await living.drop();
});

test("a template of other migrations is dropped, a database that only resembles ours is not", async () => {
  const stale = "posthaste_template_00000000_00000000";
  const users = "posthaste_test_of_my_own";
  await admin.query(`create database ${stale}`);
  await admin.query(`create database ${users}`);

  const next = await createThrowawayDatabase({ serverUrl, schema: null });
  await next.drop();

  const { rows } = await admin.query(
    "select datname::text as name from pg_database where datname = any ($1)",
    [[stale, users]],
  );
  expect(rows).toEqual([{ name: users }]);
  await admin.query(`drop database ${users}`);
});

test("a role that may not create databases is told what to do, without its password", async () => {
  await admin.query("create role no_databases login password 'canary-4711'");
  const url = new URL(serverUrl);
  url.username = "no_databases";
  url.password = "canary-4711";

  const error: unknown = await createThrowawayDatabase({
    serverUrl: url.href,
    schema: "posthaste",
  }).catch((thrown: unknown) => thrown);

  expect(error).toMatchObject({ code: "CONFIG_INVALID" });
  expect(String(error)).toContain("ALTER ROLE … CREATEDB");
  expect(String(error)).not.toContain("canary");
  await admin.query("drop role no_databases");
});
