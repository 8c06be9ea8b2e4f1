import pg from "pg";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { defineTask, type PosthasteError } from "../../src/index.ts";
import { queueChannel } from "../../src/store/channels.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";

const db = useDatabase();

const note = defineTask({ name: "note", run: (text: string) => text });

async function connections(): Promise<string[]> {
  const rows = await db.sql<{ name: string }>(
    `select application_name as name from pg_stat_activity
      where datname = current_database() and application_name like 'posthaste%'`,
  );
  return rows.map(({ name }) => name);
}

test("an app that is never used opens no connection", async () => {
  const app = db.app({ tasks: [note] });
  app.worker();
  expect(await connections()).toEqual([]);
  await app.close();
});

test("app.close() ends every connection", async () => {
  const app = db.app({ tasks: [note] });
  await app.worker().start();
  const handle = await app.send(note, "x");
  await handle.value({ timeoutMs: 30_000 });
  await app.sendMany(note, ["y"]);
  expect((await connections()).length).toBeGreaterThan(3);
  await app.close();
  await expect.poll(connections).toEqual([]);
});

test("app.close() waits for sends in progress: they are stored, and their promises resolve", async () => {
  const app = db.app();
  const sends = Array.from({ length: 100 }, (_, n) => app.send(note, `under way ${n}`));
  const bulk = app.sendMany(note, ["bulk a", "bulk b"]);
  await Promise.resolve();
  const [handles, bulkHandles] = await Promise.all([Promise.all(sends), bulk, app.close()]);
  const ids = [...handles, ...bulkHandles].map(({ id }) => id);
  const rows = await db.sql("select from posthaste.submissions where task_id = any ($1)", [ids]);
  expect(rows).toHaveLength(102);
});

test("app.close() sends pending notifications before it closes its connections", async () => {
  const heard: string[] = [];
  const client = new pg.Client(db.url);
  await client.connect();
  client.on("notification", ({ channel }) => heard.push(channel));
  const channels = ["a", "b"].map((queue) => queueChannel("posthaste", queue));
  for (const channel of channels) await client.query(`listen "${channel}"`);
  const app = db.app();
  await Promise.all([app.send(note, "warm"), app.send(note, "warm", { key: "warm" })]);

  // Coalesced notifications wait on a timer, and the fake timer never fires.
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  try {
    await Promise.all([
      app.send(note, "x", { queue: "a" }),
      app.send(note, "y", { queue: "b", key: "y" }),
    ]);
    await app.close();
  } finally {
    vi.useRealTimers();
  }
  await expect.poll(() => heard.toSorted()).toEqual(channels.toSorted());
  await client.end();
});

test("app.close() rejects waiting result() and value() calls with CLOSED", async () => {
  const app = db.app();
  const handle = await app.send(note, "never runs");
  const waiting = Promise.allSettled([handle.result(), handle.value({ timeoutMs: 60_000 })]);
  await expect.poll(async () => (await db.sql("select from posthaste.waiters")).length).toBe(1);
  await app.close();
  expect((await waiting).map((one) => one.status === "rejected" && reasonOf(one))).toEqual([
    "CLOSED",
    "CLOSED",
  ]);
  expect(await db.sql("select from posthaste.waiters")).toEqual([]);
});

function reasonOf({ reason }: PromiseRejectedResult): string {
  return (reason as PosthasteError).code;
}

test("a second app.close() returns the promise of the first", async () => {
  const app = db.app();
  await app.send(note, "x");
  const first = app.close();
  expect(app.close()).toBe(first);
  await first;
  await app.close();
});

test("every call of a closed app rejects with CLOSED", async () => {
  const app = db.app({ tasks: [note] });
  const handle = await app.send(note, "x");
  await app.close();
  const calls = [
    app.send(note, "y"),
    app.send(note, "y", { key: "k" }),
    app.sendMany(note, ["y"]),
    app.worker().start(),
    app.ensureSchema(),
    app.migrate(),
    handle.result(),
    handle.info(),
    handle.cancel(),
  ];
  const settled = await Promise.allSettled(calls);
  expect(settled.map((one) => (one.status === "rejected" ? reasonOf(one) : one.value))).toEqual(
    calls.map(() => "CLOSED"),
  );
});

test("a closed app that was never used rejects calls with CLOSED and opens no connection", async () => {
  const app = db.app({ tasks: [note] });
  await app.close();
  await expect(app.send(note, "x")).rejects.toMatchObject({ code: "CLOSED" });
  await expect(app.worker().start()).rejects.toMatchObject({ code: "CLOSED" });
  const id = crypto.randomUUID();
  await expect(app.task(note, id).result()).rejects.toMatchObject({ code: "CLOSED" });
  expect(await connections()).toEqual([]);
});

test("send() rejects with CLOSED and writes nothing if the app closes while the schema validates", async () => {
  const answer = gate<boolean>();
  const slow = defineTask({
    name: "slow-schema",
    input: z.string().refine(() => answer.opened),
    run: () => null,
  });
  const app = db.app();
  await app.send(note, "connected");
  const sending = app.send(slow, "x");
  await app.close();
  answer.open(true);
  await expect(sending).rejects.toMatchObject({ code: "CLOSED" });
  expect(await db.sql("select from posthaste.submissions where name = 'slow-schema'")).toEqual([]);
});

test("await using closes the app at the end of its block", async () => {
  {
    await using app = db.app();
    await app.send(note, "x");
    expect(await connections()).not.toEqual([]);
  }
  await expect.poll(connections).toEqual([]);
});
