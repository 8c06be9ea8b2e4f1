/** Log lines, errors, inspected objects and rows hold no password, whatever the URL looks like. */
import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { closedPort } from "../config/strange-servers.ts";
import { defineTask, posthaste, type AppConfig, type Posthaste } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { CANARY, everythingOf, leaksOf } from "../support/leaks.ts";
import { recordingLogger } from "../support/loggers.ts";

const db = useDatabase();
const role = `canary_${randomBytes(4).toString("hex")}`;
const enc = encodeURIComponent(CANARY);
const note = defineTask({ name: "note", run: (text: string) => text });
let closed = 0;

beforeAll(async () => {
  await db.sql(`create role ${role} superuser login password ${pg.escapeLiteral(CANARY)}`);
  closed = await closedPort();
});

afterAll(() => db.sql(`drop role ${role}`));

/** Calls the methods of an app, and gathers their results, their errors, the inspected app and its log. */
async function seenOf(config: AppConfig): Promise<{ seen: string; failed: number }> {
  const logger = recordingLogger();
  const seen: string[] = [];
  let failed = 0;
  const look = async (calling: () => unknown): Promise<void> => {
    try {
      seen.push(inspect(await calling(), { depth: 10 }));
    } catch (error) {
      failed++;
      seen.push(everythingOf(error));
    }
  };
  let app: Posthaste | undefined;
  await look(() => {
    app = posthaste({ ...config, logger, tasks: [note], resilience });
  });
  if (app !== undefined) {
    const made = app;
    await Promise.all([
      look(() => made.send(note, "x")),
      look(() => made.send(note, "x", { key: "k" })),
      look(() => made.sendMany(note, ["x"])),
      look(() => made.migrate()),
      look(() => made.ensureSchema()),
      look(() => made.check({ live: true })),
      look(async () => {
        const running = await made.worker({ concurrency: 1 }).start();
        seen.push(inspect(running, { depth: 10, showHidden: true }));
        seen.push(inspect(await (await made.send(note, "y")).result({ timeoutMs: 30_000 })));
        await running.stop();
      }),
    ]);
    seen.push(inspect(app, { depth: 10, showHidden: true }), JSON.stringify(app));
    await look(() => app?.close());
  }
  seen.push(inspect(logger.lines, { depth: 10 }), JSON.stringify(logger.lines));
  return { seen: seen.join("\n"), failed };
}

const resilience = { dbRetryInitialMs: 100, dbRetryMaxMs: 500, dbRetryMaxAttempts: 1 };

/** Configs that reach the database, given its host and its name. */
const good: Record<string, (at: string, name: string) => AppConfig> = {
  "a password before the host": (at, name) => ({
    database: `postgres://${role}:${enc}@${at}/${name}`,
  }),
  "a password parameter": (at, name) => ({
    database: `postgresql://${role}@${at}/${name}?password=${enc}`,
  }),
  "a parameter whose name is encoded": (at, name) => ({
    database: `postgres://${role}@${at}/${name}?p%61ssword=${enc}&application_name=mine`,
  }),
  "a host in the parameters": (at, name) => {
    const [host, port] = at.split(":");
    return {
      database: `postgres:///${name}?host=${host}&port=${port}&user=${role}&password=${enc}`,
    };
  },
  "a session URL that is refused": (at, name) => ({
    database: { url: db.url, sessionUrl: `postgres://${role}:${enc}x@${at}/${name}` },
  }),
  "a session URL that leads nowhere": (_, name) => ({
    database: { url: db.url, sessionUrl: `postgres://${role}:${enc}@127.0.0.1:${closed}/${name}` },
  }),
};

describe("a working app shows no password", () => {
  test.each(Object.entries(good))("with %s", async (_, config) => {
    const { host, pathname } = new URL(db.url);

    const { seen, failed } = await seenOf(config(host, pathname.slice(1)));

    expect(failed).toBe(0);
    expect(leaksOf(seen, CANARY)).toEqual([]);
  });

  test("in the names of its sessions, in its workers and in its tasks", async () => {
    const { host, pathname } = new URL(db.url);
    const app = db.app({ tasks: [note] });
    await app.worker().start();
    await using other = posthaste({
      database: `postgres://${role}:${enc}@${host}${pathname}`,
      logger: recordingLogger(),
      tasks: [note],
    });
    await other.worker().start();
    await (await other.send(note, "x")).result();

    const stored = await db.sql(
      `select string_agg(t::text, ' ') as seen from (
         select application_name || query as t from pg_stat_activity where usename = $1
         union all select w::text from posthaste.workers w
         union all select t::text from posthaste.tasks t) as all_there_is`,
      [role],
    );
    expect(inspect(stored)).toContain("posthaste worker");
    expect(leaksOf(JSON.stringify(stored), CANARY)).toEqual([]);
  });
});

describe("a failing app shows no password", () => {
  // Concurrent, because some take seconds to give up.
  test.concurrent.each([
    ["a wrong password", () => `postgres://${role}:${enc}x@${new URL(db.url).host}/postgres`],
    ["a port on which nothing listens", () => `postgres://ada:${enc}@127.0.0.1:${closed}/app`],
    ["an IPv6 address", () => `postgres://ada:${enc}@[::1]:${closed}/app?sslmode=disable`],
    ["an unknown host", () => `postgres://ada:${enc}@no-such-host.invalid/app`],
    ["a socket in the host", () => `postgres://ada:${enc}@%2Ftmp%2Fnowhere/app`],
    ["a socket in the parameters", () => `postgres:///app?host=/tmp/nowhere&password=${enc}`],
    ["several hosts", () => `postgres://ada:${enc}@a.invalid:1,b.invalid:2/app`],
    ["an invalid port", () => `postgres://ada:${enc}@127.0.0.1:many/app`],
    ["a password that is not encoded", () => `postgres://ada:${CANARY}@127.0.0.1:${closed}/app`],
    ["a missing host", () => `postgres://ada:${enc}/app`],
    ["a missing key file", () => `postgres://a:${enc}@h.invalid/d?sslkey=/no/such`],
    ["an option of the server", () => `postgres://a:${enc}@127.0.0.1:${closed}/d?options=-cx%3Dy`],
    ["no scheme", () => `ada:${CANARY}@127.0.0.1/app`],
    ["another scheme", () => `mysql://ada:${enc}@127.0.0.1/app`],
    ["key=value pairs", () => `host=127.0.0.1 user=ada password=${CANARY} dbname=app`],
  ])("with %s", async (_, url) => {
    const { seen, failed } = await seenOf({ database: url() });

    expect(failed).toBeGreaterThan(0);
    expect(leaksOf(seen, CANARY)).toEqual([]);
  });

  test.each([
    ["a URL under a misspelt name", (url: string) => ({ databse: url })],
    ["a URL as a name", (url: string) => ({ [url]: true })],
    ["a URL as a schema", (url: string) => ({ schema: url })],
    ["a URL as a queue", (url: string) => ({ queues: { [url]: {} } })],
    ["a URL as a flag", (url: string) => ({ autoMigrate: url })],
    ["a URL as a number", (url: string) => ({ claimLeaseMs: url })],
    ["a URL in a list", (url: string) => ({ database: [url] })],
    ["a URL under a misspelt name in database", (url: string) => ({ database: { uri: url } })],
    ["a URL as a session's URL only", (url: string) => ({ database: { sessionUrl: url } })],
    ["a URL as a task", (url: string) => ({ tasks: [url] })],
  ])("with %s", async (_, config) => {
    const thrown: unknown[] = [];
    for (const form of [enc, CANARY]) {
      try {
        posthaste(config(`postgres://ada:${form}@h/app`) as AppConfig);
      } catch (error) {
        thrown.push(error);
      }
    }

    expect(thrown).toHaveLength(2);
    expect(leaksOf(thrown.map(everythingOf).join("\n"), CANARY)).toEqual([]);
  });
});
