/**
 * The schema's versions: forward only, each applied once, under an advisory lock, all missing ones in one transaction.
 * Any number of processes may call this at once; the first does the work and the others find it done.
 */
import { PosthasteError } from "../domain/errors.ts";
import type { Connection } from "./connection.ts";
import { isOlderVersion } from "../domain/library-version.ts";
import { version } from "../version.ts";
import { migrations, type Migration } from "./migrations.gen.ts";
import { migrationText, schemaText, sql, statement, type SqlText } from "./sql.ts";

const OLDEST_POSTGRESQL = 140_000;

/** Names of the migrations that were applied by this call. */
export async function migrate(connection: Connection, schema: string): Promise<string[]> {
  await requireServer(connection);
  if ((await readSchema(connection, schema)).missing.length === 0) return [];

  // The lock comes in a statement of its own, so that what follows sees what the one before us has committed.
  await connection.script(sql`begin`);
  try {
    await connection.query(LOCK, [`posthaste/migrate/${schema}`]);
    const { missing } = await readSchema(connection, schema);
    if (missing.length > 0) await prepare(connection, schema);
    for (const { name, source } of missing) {
      await connection.script(migrationText(source, schema));
      await connection.query(record(schema), [name]);
    }
    if (missing.length > 0) await connection.script(stateOldest(schema));
    await connection.script(sql`commit`);
    return missing.map(({ name }) => name);
  } catch (error) {
    await connection.script(sql`rollback`).catch(() => connection.destroy()); // the session is gone: so is its transaction
    throw error;
  }
}

export interface SchemaState {
  /** Names of migrations that have not been applied. */
  readonly missing: readonly string[];
  /** Names of applied migrations that this version does not know. */
  readonly newer: readonly string[];
}

/** Throws SCHEMA_MISMATCH if the schema is too new for this version. Changes nothing. */
export async function checkSchema(connection: Connection, schema: string): Promise<SchemaState> {
  await requireServer(connection);
  const { missing, newer } = await readSchema(connection, schema);
  return { missing: missing.map(({ name }) => name), newer };
}

/** The same, and throws unless every migration that this version knows has been applied. */
export async function verifySchema(connection: Connection, schema: string): Promise<SchemaState> {
  const state = await checkSchema(connection, schema);
  if (state.missing.length === 0) return state;
  throw new PosthasteError(
    "SCHEMA_MISMATCH",
    `the schema "${schema}" lacks ${state.missing.join(", ")}; run \`posthaste migrate\`, or leave autoMigrate on`,
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
  return [
    begin,
    createSchema(schema),
    bookkeeping(schema),
    ...parts,
    stateOldest(schema),
    "commit;",
  ].join("\n\n");
}

const LOCK = statement(sql`select pg_advisory_xact_lock(hashtextextended($1, 0))`);

const SERVER = statement(sql`
  select current_setting('server_version_num')::int as "version", current_setting('server_encoding') as "encoding"`);

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

/** Of every migration that this version knows, also of those that an earlier one has applied without a statement. */
function stateOldest(schema: string): SqlText {
  const known = migrations.map(({ name, oldestLibrary }) => `('${name}', '${oldestLibrary}')`);
  return sql`update ${schemaText(schema)}.migrations as applied set oldest_library = known.oldest_library
  from (values ${known.join(", ") as SqlText}) as known (name, oldest_library)
 where applied.name = known.name and applied.oldest_library is distinct from known.oldest_library;`;
}

/** Text of every script must come back as it was sent, and jsonb knows no other encoding for \u escapes. */
async function requireServer(connection: Connection): Promise<void> {
  const [row] = await connection.query<{ version: number; encoding: string }>(SERVER);
  if (row === undefined || row.version < OLDEST_POSTGRESQL) {
    const found = Math.floor((row?.version ?? 0) / 10_000);
    throw new PosthasteError(
      "SCHEMA_MISMATCH",
      `PostgreSQL 14 or newer is needed, this server is version ${found}`,
    );
  }
  if (row.encoding !== "UTF8") {
    throw new PosthasteError(
      "SCHEMA_MISMATCH",
      `expected a database with the encoding UTF8, found ${row.encoding}; ` +
        "create one with: create database … encoding 'UTF8' template template0",
    );
  }
}

interface AppliedMigration {
  readonly name: string;
  /** Null: it states none. Such a row is not from a released version of this library, or from a hand. */
  readonly oldestLibrary: string | null;
}

async function readSchema(
  connection: Connection,
  schema: string,
): Promise<{ readonly missing: readonly Migration[]; readonly newer: readonly string[] }> {
  // As JSON: a schema from before 0017 does not have the column.
  const APPLIED = statement(sql`
    select name as "name", to_jsonb(applied) ->> 'oldest_library' as "oldestLibrary"
      from ${schemaText(schema)}.migrations as applied order by name`);
  const [present] = await connection.query<{ present: boolean }>(PRESENT, [schema]);
  if (present?.present !== true) return { missing: migrations, newer: [] };
  const applied = await connection.query<AppliedMigration>(APPLIED);
  const unknown = applied.filter(({ name }) => !migrations.some((known) => known.name === name));
  refuseTooNew(schema, unknown);
  return {
    missing: migrations.filter(({ name }) => !applied.some((row) => row.name === name)),
    newer: unknown.map(({ name }) => name),
  };
}

function refuseTooNew(schema: string, unknown: readonly AppliedMigration[]): void {
  for (const { name, oldestLibrary } of unknown) {
    if (oldestLibrary === null || !isOlderVersion(version, oldestLibrary)) continue;
    throw new PosthasteError(
      "SCHEMA_MISMATCH",
      `the schema "${schema}" has the migration ${name}, which needs posthaste ${oldestLibrary} or newer, and this is ` +
        `posthaste ${version}; deploy a newer version of your app`,
    );
  }
}

// Read from the catalogue's tables, not with to_regclass: that asks the session's cache, which a wait for an advisory
// lock does not refresh. Locking pg_namespace does, or `create schema if not exists` would not see the schema that the
// one before us has made ("duplicate key value violates unique constraint pg_namespace_nspname_index").
const PRESENT = statement(sql`
  select exists (
    select from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where nspname = $1 and relname = 'migrations') as "present"`);
