/**
 * The schema's versions: forward only, each applied once, under an advisory lock, all missing ones in one transaction.
 * Any number of processes may call this at once; the first does the work and the others find it done.
 */
import { PosthasteError } from "../domain/errors.ts";
import type { Connection } from "./connection.ts";
import { migrations } from "./migrations.gen.ts";
import { migrationText, schemaText, sql, statement, type SqlText } from "./sql.ts";

const OLDEST_POSTGRESQL = 140_000;

/** Names of the migrations that were applied by this call. */
export async function migrate(connection: Connection, schema: string): Promise<string[]> {
  await requireVersion(connection);
  if ((await missingMigrations(connection, schema)).length === 0) return [];

  // The lock comes in a statement of its own, so that what follows sees what the one before us has committed.
  await connection.script(sql`begin`);
  try {
    await connection.query(LOCK, [`posthaste/migrate/${schema}`]);
    const missing = await missingMigrations(connection, schema);
    if (missing.length > 0) await prepare(connection, schema);
    for (const { name, source } of missing) {
      await connection.script(migrationText(source, schema));
      await connection.query(record(schema), [name]);
    }
    await connection.script(sql`commit`);
    return missing.map(({ name }) => name);
  } catch (error) {
    await connection.script(sql`rollback`).catch(() => connection.destroy()); // the session is gone: so is its transaction
    throw error;
  }
}

/** Whether every migration this version knows has been applied. */
export async function isSchemaCurrent(connection: Connection, schema: string): Promise<boolean> {
  await requireVersion(connection);
  return (await missingMigrations(connection, schema)).length === 0;
}

/** Throws SCHEMA_MISMATCH unless every migration this version knows has been applied. Changes nothing. */
export async function verifySchema(connection: Connection, schema: string): Promise<void> {
  await requireVersion(connection);
  const missing = await missingMigrations(connection, schema);
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name).join(", ");
  throw new PosthasteError(
    "SCHEMA_MISMATCH",
    `the schema "${schema}" lacks ${names}; run \`posthaste migrate\`, or leave autoMigrate on`,
  );
}

/** What `migrate` would run on an empty database, as a script for psql. */
export function printMigrations(schema: string): string {
  const parts = migrations.map(({ name, source }) =>
    [
      `-- ${name}`,
      migrationText(source, schema).trimEnd(),
      `insert into ${schemaText(schema)}.migrations (name) values ('${name}');`,
    ].join("\n\n"),
  );
  // The session's own path may hold functions that would stand in for the built-in ones of the same name.
  const begin = "begin;\nset local search_path = pg_catalog, pg_temp;";
  return [begin, createSchema(schema), bookkeeping(schema), ...parts, "commit;"].join("\n\n");
}

const LOCK = statement(sql`select pg_advisory_xact_lock(hashtextextended($1, 0))`);

const VERSION = statement(sql`select current_setting('server_version_num')::int as "version"`);

/** A role that owns the schema need not be allowed to make one, which "if not exists" asks for all the same. */
async function prepare(connection: Connection, schema: string): Promise<void> {
  const found = await connection.query(SCHEMA_EXISTS, [schema]);
  if (found.length === 0) await connection.script(createSchema(schema));
  await connection.script(bookkeeping(schema));
}

const SCHEMA_EXISTS = statement(sql`select from pg_namespace where nspname = $1`);

function createSchema(schema: string): SqlText {
  return sql`create schema if not exists ${schemaText(schema)};`;
}

function bookkeeping(schema: string): SqlText {
  const name = schemaText(schema);
  return sql`create table if not exists ${name}.migrations (
  name       text primary key,
  applied_at timestamptz not null default clock_timestamp()
);`;
}

function record(schema: string) {
  return statement(sql`insert into ${schemaText(schema)}.migrations (name) values ($1)`);
}

async function requireVersion(connection: Connection): Promise<void> {
  const [row] = await connection.query<{ version: number }>(VERSION);
  if (row !== undefined && row.version >= OLDEST_POSTGRESQL) return;
  const found = Math.floor((row?.version ?? 0) / 10_000);
  throw new PosthasteError(
    "SCHEMA_MISMATCH",
    `PostgreSQL 14 or newer is needed, this server is version ${found}`,
  );
}

async function missingMigrations(
  connection: Connection,
  schema: string,
): Promise<{ readonly name: string; readonly source: string }[]> {
  const APPLIED = statement(sql`select name from ${schemaText(schema)}.migrations`);
  const [present] = await connection.query<{ present: boolean }>(PRESENT, [schema]);
  if (present?.present !== true) return [...migrations];
  const applied = await connection.query<{ name: string }>(APPLIED);
  return migrations.filter(({ name }) => !applied.some((row) => row.name === name));
}

// Read from the catalogue's tables, not with to_regclass: that asks the session's cache, which a wait for an advisory
// lock does not refresh. Locking pg_namespace does, or `create schema if not exists` would not see the schema that the
// one before us has made ("duplicate key value violates unique constraint pg_namespace_nspname_index").
const PRESENT = statement(sql`
  select exists (
    select from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where nspname = $1 and relname = 'migrations') as "present"`);
