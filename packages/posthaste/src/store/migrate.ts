/**
 * The schema's versions: migrations, forward only, each applied once; then the functions, if the stored ones are older than
 * ours. All in one transaction, under an advisory lock. Any number of processes may call this at once; the first does the
 * work and the others find it done.
 */
import { PosthasteError } from "../domain/errors.ts";
import { isOlderVersion } from "../domain/library-version.ts";
import { version } from "../version.ts";
import type { Connection } from "./connection.ts";
import { migrations, type Migration } from "./migrations.gen.ts";
import {
  functionScripts,
  functionsTable,
  labelOf,
  ownFunctions,
  readFunctions,
  type SchemaFunctions,
  type StoredFunctions,
} from "./schema-functions.ts";
import { migrationText, schemaText, sql, statement, type SqlText } from "./sql.ts";

const OLDEST_POSTGRESQL = 140_000;

/** The migrations that this call applied, and the version of the functions. */
export async function migrate(
  connection: Connection,
  schema: string,
  functions: SchemaFunctions = ownFunctions,
): Promise<string[]> {
  await requireServer(connection);
  if (lacking(await readSchema(connection, schema), functions).length === 0) return [];

  // The lock comes in a statement of its own, so that later statements see the commit of the previous holder.
  await connection.script(sql`begin`);
  try {
    await connection.query(LOCK, [`posthaste/migrate/${schema}`]);
    const found = await readSchema(connection, schema);
    if (found.missing.length > 0) await applyMigrations(connection, schema, found.missing);
    if (areOlder(found.functions, functions)) await applyFunctions(connection, schema, functions);
    await connection.script(sql`commit`);
    return lacking(found, functions);
  } catch (error) {
    await connection.script(sql`rollback`).catch(() => connection.destroy()); // the session is gone: so is its transaction
    throw error;
  }
}

/** The whole schema, in the transaction of the caller. */
export async function makeSchema(connection: Connection, schema: string): Promise<void> {
  await applyMigrations(connection, schema, migrations);
  await applyFunctions(connection, schema, ownFunctions);
}

async function applyMigrations(
  connection: Connection,
  schema: string,
  missing: readonly Migration[],
): Promise<void> {
  await prepare(connection, schema);
  for (const { name, source } of missing) {
    await connection.script(migrationText(source, schema));
    await connection.query(record(schema), [name]);
  }
  await connection.script(stateOldest(schema));
}

async function applyFunctions(
  connection: Connection,
  schema: string,
  functions: SchemaFunctions,
): Promise<void> {
  for (const script of functionScripts(schema, functions)) await connection.script(script);
  await connection.script(recordFunctions(schema, functions));
}

function areOlder(stored: StoredFunctions | undefined, own: SchemaFunctions): boolean {
  return stored === undefined || stored.version < own.version;
}

function lacking(found: FoundSchema, functions: SchemaFunctions): string[] {
  const names = found.missing.map(({ name }) => name);
  return areOlder(found.functions, functions) ? [...names, labelOf(functions)] : names;
}

export interface SchemaState {
  /** Names of migrations that have not been applied, and the version of the functions if the stored ones are older. */
  readonly missing: readonly string[];
  /** Names of applied migrations that this version does not know. */
  readonly newer: readonly string[];
  /** The stored functions, if they have our version and another text. */
  readonly drifted?: FunctionsDrift;
}

export interface FunctionsDrift {
  readonly version: number;
  readonly storedHash: string;
  readonly ownHash: string;
}

/** Throws SCHEMA_MISMATCH if the schema is too new for this version. Changes nothing. */
export async function checkSchema(
  connection: Connection,
  schema: string,
  own: SchemaFunctions = ownFunctions,
): Promise<SchemaState> {
  await requireServer(connection);
  const found = await readSchema(connection, schema);
  const stored = found.functions;
  const hasDrifted = stored?.version === own.version && stored.hash !== own.hash;
  return {
    missing: lacking(found, own),
    newer: found.newer,
    ...(hasDrifted && {
      drifted: { version: own.version, storedHash: stored.hash, ownHash: own.hash },
    }),
  };
}

/** The same, and throws unless every migration that this version knows, and its functions or newer ones, have been applied. */
export async function verifySchema(
  connection: Connection,
  schema: string,
  own: SchemaFunctions = ownFunctions,
): Promise<SchemaState> {
  const state = await checkSchema(connection, schema, own);
  if (state.missing.length === 0) return state;
  throw new PosthasteError(
    "SCHEMA_MISMATCH",
    `the schema "${schema}" lacks ${state.missing.join(", ")}; run \`posthaste migrate\`, or leave autoMigrate on`,
  );
}

/** The SQL that `migrate` runs on an empty database, as a script for psql. */
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
    `-- ${labelOf(ownFunctions)}`,
    ...functionScripts(schema, ownFunctions).map((script) => script.trimEnd()),
    recordFunctions(schema, ownFunctions),
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
  name           text primary key,
  applied_at     timestamptz not null default clock_timestamp(),
  -- The oldest version of the library that may run on the schema that it makes. Stored, because older code has no file to read.
  oldest_library text
);
${functionsTable(schema)}`;
}

function record(schema: string) {
  return statement(sql`insert into ${schemaText(schema)}.migrations (name) values ($1)`);
}

function recordFunctions(schema: string, { version: number, hash }: SchemaFunctions): SqlText {
  const values = `${number}, '${hash}', '${version}'` as SqlText;
  return sql`insert into ${schemaText(schema)}.function_versions (version, hash, applied_by) values (${values});`;
}

/** The oldest library of every migration that this version knows. */
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

interface FoundSchema {
  readonly missing: readonly Migration[];
  readonly newer: readonly string[];
  readonly functions: StoredFunctions | undefined;
}

async function readSchema(connection: Connection, schema: string): Promise<FoundSchema> {
  const APPLIED = statement(sql`
    select name as "name", oldest_library as "oldestLibrary" from ${schemaText(schema)}.migrations order by name`);
  const tables = await connection.query<{ name: string }>(PRESENT, [schema]);
  if (tables.length === 0) return { missing: migrations, newer: [], functions: undefined };
  if (tables.length === 1) throw madeBeforeRelease(schema);
  const applied = await connection.query<AppliedMigration>(APPLIED);
  const unknown = applied.filter(({ name }) => !migrations.some((known) => known.name === name));
  refuseTooNew(schema, unknown);
  return {
    missing: migrations.filter(({ name }) => !applied.some((row) => row.name === name)),
    newer: unknown.map(({ name }) => name),
    functions: await readFunctions(connection, schema),
  };
}

/** Before 0.1.0 functions were part of the migrations, which were rewritten then. */
function madeBeforeRelease(schema: string): PosthasteError {
  return new PosthasteError(
    "SCHEMA_MISMATCH",
    `the schema "${schema}" was made by a state of posthaste from before its first release, which cannot be migrated; ` +
      `drop it (drop schema ${schema} cascade), or use another one`,
  );
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
  select relname as "name"
    from pg_class join pg_namespace on pg_namespace.oid = relnamespace
   where nspname = $1 and relname in ('migrations', 'function_versions') and relkind = 'r'`);
