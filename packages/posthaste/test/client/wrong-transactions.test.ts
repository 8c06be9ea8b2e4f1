/** Calls refuse a `tx` that is no transaction of this database before they store anything. */
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { defineTask, defineWorkflow, type CallersTransaction } from "../../src/index.ts";
import {
  createThrowawayDatabase,
  type ThrowawayDatabase,
} from "../../src/store/throwaway-database.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);

const note = defineTask({ name: "note", run: (text: string) => text });
const flow = defineWorkflow({
  name: "one-note",
  build: (nodes) => nodes.node("only", note, "x").output,
});

let client: pg.Client;
beforeEach(async () => {
  client = new pg.Client(db.url);
  await client.connect();
});
afterEach(() => client.end());

const others: ThrowawayDatabase[] = [];
const otherClients: pg.Client[] = [];
/** A client of another database, inside a transaction. */
async function elsewhere(schema: string | null): Promise<pg.Client> {
  const other = await createThrowawayDatabase({ serverUrl: inject("serverUrl"), schema });
  others.push(other);
  const there = new pg.Client(other.url);
  otherClients.push(there);
  await there.connect();
  await there.query("begin");
  return there;
}
afterEach(async () => {
  for (const there of otherClients.splice(0)) await there.end();
  for (const other of others.splice(0)) await other.drop();
});

let pool: pg.Pool;
beforeAll(() => {
  pool = new pg.Pool({ connectionString: db.url });
});
afterAll(() => pool.end());

/** Wraps a client as an ORM does, so that nothing of the driver shows. */
function wrapped(inner: { query: pg.Client["query"] | pg.Pool["query"] }): CallersTransaction {
  return {
    query: async (text, values) => {
      const { rows } = await (inner as pg.Client).query(text, values);
      return { rows: rows as unknown[] };
    },
  };
}

/** Every call that takes a caller's transaction. */
const calls: Readonly<Record<string, (tx: CallersTransaction) => Promise<unknown>>> = {
  send: (tx) => db.app().send(note, "x", { tx }),
  "send with a key": (tx) => db.app().send(note, "x", { tx, key: "k" }),
  sendMany: (tx) => db.app().sendMany(note, ["x", "y"], { tx }),
  start: (tx) => db.app({ workflows: [flow] }).start(flow, undefined, { tx }),
};

async function stored(): Promise<number> {
  const sent = await db.sql("select from posthaste.submissions");
  const started = await db.sql("select from posthaste.workflows");
  return sent.length + started.length;
}

const refusal = (message: RegExp) => ({
  code: "VALIDATION_FAILED",
  problems: [{ path: "options.tx", message: expect.stringMatching(message) }],
});

test.each(Object.keys(calls))("%s refuses a pool", async (name) => {
  await expect(calls[name]?.(pool)).rejects.toMatchObject(refusal(/a pool.*pool\.connect/));
  await expect(calls[name]?.(wrapped(pool))).rejects.toMatchObject(refusal(/no transaction/));
  expect(await stored()).toBe(0);
});

test.each(Object.keys(calls))("%s refuses a client outside of a transaction", async (name) => {
  await expect(calls[name]?.(client)).rejects.toMatchObject(refusal(/no transaction/));
  await expect(calls[name]?.(wrapped(client))).rejects.toMatchObject(refusal(/no transaction/));
  await client.query("begin");
  await client.query("commit");
  await expect(calls[name]?.(client)).rejects.toMatchObject(refusal(/no transaction/));
  expect(await stored()).toBe(0);
});

test.each(Object.keys(calls))("%s refuses a transaction that has failed", async (name) => {
  await client.query("begin");
  await client.query("select 1 / 0").catch(() => undefined);
  await expect(calls[name]?.(client)).rejects.toMatchObject(refusal(/has failed/));
  await client.query("rollback");
});

test.each(Object.keys(calls))(
  "%s refuses a transaction of another database",
  async (name) => {
    for (const schema of [null, "posthaste"]) {
      for (const wrap of [(tx: pg.Client) => tx, wrapped]) {
        const there = await elsewhere(schema);
        await expect(calls[name]?.(wrap(there))).rejects.toMatchObject(refusal(/another database/));
        await there.query("commit");
        if (schema !== null) {
          const { rows } = await there.query("select from posthaste.submissions");
          expect(rows).toEqual([]);
        }
      }
    }
    expect(await stored()).toBe(0);
  },
  60_000,
);

test.each(Object.keys(calls))("%s joins a transaction, however it is wrapped", async (name) => {
  for (const tx of [client, wrapped(client)]) {
    await client.query("begin");
    await calls[name]?.(tx);
    await client.query("rollback");
    expect(await stored()).toBe(0);
    const begun = client.query("begin"); // not awaited: it is on its way
    await calls[name]?.(tx);
    await begun;
    await client.query("commit");
    expect(await stored()).toBeGreaterThan(0);
    await db.sql(
      "truncate posthaste.submissions, posthaste.ready_tasks, posthaste.workflows, posthaste.workflow_states, posthaste.workflow_nodes",
    );
  }
});
