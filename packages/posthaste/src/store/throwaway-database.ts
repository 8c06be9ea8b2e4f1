/**
 * Databases that live as long as a test file: copied from a migrated template, dropped in the end. Databases of
 * killed processes are dropped by the next process that makes one on that server.
 *
 * A living database is marked by an advisory lock on its name, held by the session that made it. PostgreSQL releases
 * the lock when the process dies, and pg_locks shows it to every session of the server.
 */
import { createHash, randomBytes } from "node:crypto";
import { maskSecrets } from "../domain/connection-url.ts";
import { PosthasteError } from "../domain/errors.ts";
import { Connection } from "./connection.ts";
import { functionTopics } from "./functions.gen.ts";
import { migrate } from "./migrate.ts";
import { migrations } from "./migrations.gen.ts";
import { errorCode } from "./pg-errors.ts";
import { sql, statement, type SqlText } from "./sql.ts";

export interface ThrowawayOptions {
  /** The URL of an existing database whose user may create others. */
  readonly serverUrl: string;
  /** The schema that it is to have, migrated. Null: the database is empty. */
  readonly schema: string | null;
}

export interface ThrowawayDatabase {
  readonly url: string;
  /** Ends every session in it, too. */
  drop(): Promise<void>;
}

export async function createThrowawayDatabase({
  serverUrl,
  schema,
}: ThrowawayOptions): Promise<ThrowawayDatabase> {
  const server = await connect(serverUrl);
  try {
    await dropLeftovers(server);
    const name = await reserveName(server);
    if (schema === null) await server.script(sql`create database ${quoted(name)}`);
    else await copyTemplate({ server, serverUrl, schema, name });
    return { url: databaseUrl(serverUrl, name), drop: () => drop(server, name) };
  } catch (error) {
    await server.close();
    throw explained(error, serverUrl);
  }
}

async function drop(server: Connection, name: string): Promise<void> {
  // The session was lost, so the mark is gone too: the next run drops the database.
  if (!server.isOpen) return;
  await server.script(sql`drop database if exists ${quoted(name)} with (force)`);
  await server.close();
}

interface Copy {
  readonly server: Connection;
  readonly serverUrl: string;
  readonly schema: string;
  readonly name: string;
}

const MOST_COPIES = 5;

async function copyTemplate({ server, serverUrl, schema, name }: Copy): Promise<void> {
  const [about] = await server.query<About>(ABOUT);
  const template = templateName(schema, about?.role ?? "");
  // Without fsync the checkpoints of a file copy cost nothing.
  const strategy = about?.copiesFiles === true ? sql`strategy file_copy` : sql``;
  for (let attempt = 1; ; attempt++) {
    await ensureTemplate(server, serverUrl, schema, template);
    try {
      return await server.script(
        sql`create database ${quoted(name)} template ${quoted(template)} ${strategy}`,
      );
    } catch (error) {
      // A process of another version of this library has dropped it meanwhile, or is still looking into it.
      if (attempt === MOST_COPIES || ![GONE, IN_USE].includes(errorCode(error) ?? "")) throw error;
    }
  }
}

/** Made under a name of its own and then renamed: it is there whole or not at all, and a half-made one is a leftover. */
async function ensureTemplate(
  server: Connection,
  serverUrl: string,
  schema: string,
  template: string,
): Promise<void> {
  if ((await server.query(EXISTS, [template])).length > 0) return;
  const draft = await reserveName(server);
  await server.script(sql`create database ${quoted(draft)}`);
  const inside = await connect(databaseUrl(serverUrl, draft));
  try {
    await migrate(inside, schema);
  } finally {
    await inside.close();
  }
  // A template with open connections cannot be copied.
  await server.script(sql`alter database ${quoted(draft)} with allow_connections false`);
  try {
    await server.script(sql`alter database ${quoted(draft)} rename to ${quoted(template)}`);
  } catch (error) {
    if (![TAKEN, TAKEN_AT_ONCE].includes(errorCode(error) ?? "")) throw error;
    await server.script(sql`drop database ${quoted(draft)}`); // another process was quicker
  }
}

async function dropLeftovers(server: Connection): Promise<void> {
  for (const { name } of await server.query<{ name: string }>(LEFTOVERS, [VERSION])) {
    // Another process may be dropping it too, or a session of the dead one may still be ending: the next run tries again.
    await server.script(sql`drop database if exists ${quoted(name)}`).catch(() => undefined);
  }
}

async function reserveName(server: Connection): Promise<string> {
  const name = `posthaste_test_${randomBytes(8).toString("hex")}`;
  await server.query(MARK, [name]);
  return name;
}

/** Another version of the library has other migrations and functions; another role may not copy a database that it does not own. */
function templateName(schema: string, role: string): string {
  return `posthaste_template_${VERSION}_${hash(`${role}/${schema}`)}`;
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}

const VERSION = hash(JSON.stringify([migrations, functionTopics]));

const NAME = /^posthaste_(?:test_[0-9a-f]{16}|template_[0-9a-f]{8}_[0-9a-f]{8})$/;

function quoted(name: string): SqlText {
  if (!NAME.test(name)) throw new TypeError("not a database of ours");
  return `"${name}"` as SqlText;
}

interface About {
  readonly role: string;
  readonly copiesFiles: boolean;
}

// The choice of a strategy came with PostgreSQL 15; before, files were copied always.
const ABOUT = statement(sql`
  select current_user::text as "role",
         current_setting('fsync') = 'off' and current_setting('server_version_num')::int >= 150000 as "copiesFiles"`);

const EXISTS = statement(sql`select from pg_database where datname = $1`);

const MARK = statement(sql`select pg_advisory_lock(hashtextextended($1, 0))`);

// Only databases that this role owns and that are named as above: never a database of the user.
const LEFTOVERS = statement(sql`
  select datname::text as "name"
    from pg_database
   where datdba = (select oid from pg_roles where rolname = current_user)
     and (datname ~ '^posthaste_test_[0-9a-f]{16}$'
            and not exists (
              select from pg_locks
               where locktype = 'advisory' and objsubid = 1
                 and (classid::bigint << 32) | objid::bigint = hashtextextended(datname::text, 0))
          or datname ~ '^posthaste_template_[0-9a-f]{8}_[0-9a-f]{8}$'
            and substr(datname, length('posthaste_template_') + 1, 8) <> $1)`);

// Two renames that meet pass the look at existing names, and one fails at the unique index.
const [GONE, IN_USE, TAKEN, TAKEN_AT_ONCE, FORBIDDEN] = [
  "3D000",
  "55006",
  "42P04",
  "23505",
  "42501",
];

function connect(url: string): Promise<Connection> {
  return Connection.open({
    url,
    profile: "migrations",
    applicationName: "posthaste testing",
    preparedStatements: true,
  });
}

function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

function explained(error: unknown, serverUrl: string): unknown {
  if (errorCode(error) !== FORBIDDEN) return error;
  return new PosthasteError(
    "CONFIG_INVALID",
    `the role of ${maskSecrets(serverUrl)} may not create databases, and every test file gets its own; ` +
      "give it the right with ALTER ROLE … CREATEDB, or leave the URL out and let an embedded PostgreSQL do it",
  );
}
