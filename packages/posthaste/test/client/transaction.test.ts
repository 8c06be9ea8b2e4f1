import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { SOON_MS } from "../support/soon.ts";

const db = useDatabase();

const note = defineTask({ name: "note", run: (text: string) => text });

let client: pg.Client;
beforeEach(async () => {
  client = new pg.Client(db.url);
  await client.connect();
});
afterEach(() => client.end());

async function isThere(id: string): Promise<boolean> {
  return (await db.sql("select from posthaste.submissions where task_id = $1", [id])).length === 1;
}

test("a task sent in a transaction is visible after its commit, together with the other rows", async () => {
  await db.sql("create table orders (task_id uuid)");
  const app = db.app();
  await client.query("begin");
  const { id } = await app.send(note, "x", { tx: client });
  await client.query("insert into orders values ($1)", [id]);
  expect(await isThere(id)).toBe(false);
  await client.query("commit");
  expect(await isThere(id)).toBe(true);
  expect(await db.sql("select task_id from orders")).toEqual([{ task_id: id }]);
});

test("a commit wakes an idle worker at once", async () => {
  const app = db.app({ tasks: [note], resilience: { notifyPollIntervalMs: 60_000 } });
  await app.worker().start();
  await (await app.send(note, "warm")).value({ timeoutMs: 30_000 });
  await client.query("begin");
  const handle = await app.send(note, "x", { tx: client });
  const committedAt = performance.now();
  await client.query("commit");
  await handle.value({ timeoutMs: 30_000 });
  expect(performance.now() - committedAt).toBeLessThan(SOON_MS);
});

test("a rollback removes the sent task", async () => {
  await client.query("begin");
  const handle = await db.app().send(note, "x", { tx: client });
  await client.query("rollback");
  expect(await isThere(handle.id)).toBe(false);
  await expect(handle.info()).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
});

test("sendMany joins a transaction and applies the options of its items", async () => {
  await client.query("begin");
  const handles = await db
    .app()
    .sendMany(note, ["a", { input: "b", priority: 1 }], { tx: client, priority: 9 });
  expect(await isThere(handles[0]?.id ?? "")).toBe(false);
  await client.query("commit");
  const infos = await Promise.all(handles.map((handle) => handle.info()));
  expect(infos.map(({ priority }) => priority)).toEqual([9, 1]);
});

test("send() in a transaction finds the task with its key, sent earlier or in the same transaction", async () => {
  const app = db.app();
  const earlier = await app.send(note, "x", { key: "tx-earlier" });
  await client.query("begin");
  const found = await app.send(note, "x", { key: "tx-earlier", tx: client });
  const made = await app.send(note, "y", { key: "tx-own", tx: client });
  const again = await app.send(note, "y", { key: "tx-own", tx: client });
  await client.query("commit");
  expect(found.id).toBe(earlier.id);
  expect(again.id).toBe(made.id);
});

test("send() refuses a used key with another input, and the transaction stays usable", async () => {
  const app = db.app();
  await app.send(note, "x", { key: "tx-quarrel" });
  await client.query("begin");
  await expect(app.send(note, "y", { key: "tx-quarrel", tx: client })).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
  });
  const { id } = await app.send(note, "z", { tx: client });
  await client.query("commit");
  expect(await isThere(id)).toBe(true);
});

test("send() in a transaction returns the same task for a repeated id", async () => {
  const app = db.app();
  const id = randomUUID();
  await client.query("begin");
  await app.send(note, "x", { id, tx: client });
  await app.send(note, "x", { id, tx: client });
  await client.query("commit");
  expect((await app.send(note, "x", { id })).id).toBe(id);
});

test.each(["repeatable read", "serializable"])(
  "send() works in a %s transaction",
  async (level) => {
    const app = db.app({ tasks: [note] });
    const key = `tx-${level}`;
    await client.query(`begin isolation level ${level}`);
    const handle = await app.send(note, "x", { key, tx: client });
    expect((await app.send(note, "x", { key, tx: client })).id).toBe(handle.id);
    await client.query("commit");
    await app.worker().start();
    expect(await handle.value({ timeoutMs: 30_000 })).toBe("x");
  },
);

test("send() fails with a serialization failure if its key was committed after the snapshot of the transaction", async () => {
  const app = db.app();
  await client.query("begin isolation level repeatable read");
  await client.query("select 1");
  await app.send(note, "x", { key: "tx-behind" });
  await expect(app.send(note, "x", { key: "tx-behind", tx: client })).rejects.toMatchObject({
    code: "40001",
  });
  await client.query("rollback");
});

test("the second of two transactions that send one key waits, and gets the task of the first", async () => {
  const app = db.app();
  const other = new pg.Client(db.url);
  await other.connect();
  try {
    await client.query("begin");
    await other.query("begin");
    const first = await app.send(note, "x", { key: "tx-race", tx: client });
    const second = app.send(note, "x", { key: "tx-race", tx: other });
    await client.query("commit");
    expect((await second).id).toBe(first.id);
    await other.query("commit");
  } finally {
    await other.end();
  }
});

test("send() leaves no prepared statement in the caller's session", async () => {
  const app = db.app();
  await client.query("begin");
  await app.send(note, "x", { tx: client, key: "tx-clean" });
  await client.query("commit");
  const { rows } = await client.query("select name from pg_prepared_statements");
  expect(rows).toEqual([]);
});

test("send() accepts any object with query(text, values) as a transaction", async () => {
  const texts: string[] = [];
  const tx = {
    query: (text: string, values: unknown[]) => {
      texts.push(text);
      return client.query<Record<string, unknown>>(text, values);
    },
  };
  await client.query("begin");
  const { id } = await db.app().send(note, "x", { tx });
  await client.query("commit");
  expect(texts.length).toBeGreaterThan(0);
  expect(await isThere(id)).toBe(true);
});

test.each([{}, null, "tx", 5, { query: "no" }])(
  "send() and sendMany() refuse %j as a transaction, and send nothing",
  async (tx) => {
    const id = randomUUID();
    const options = { id, tx: tx as unknown as pg.Client };
    const app = db.app();
    const sends = [app.send(note, "x", options), app.sendMany(note, ["x"], options)];
    expect(await Promise.allSettled(sends)).toMatchObject(
      sends.map(() => ({
        reason: { code: "VALIDATION_FAILED", problems: [{ path: "options.tx" }] },
      })),
    );
    expect(await isThere(id)).toBe(false);
  },
);
