import { expect, test } from "vitest";
import { z } from "zod";
import { defineTask } from "../../src/index.ts";
import { recordingLogger } from "../support/loggers.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

const note = defineTask({ name: "note", run: (text: string) => text });
const touch = defineTask({ name: "touch", run: () => null });

interface Stored {
  readonly queue: string;
  readonly priority: number;
  readonly input: unknown;
  readonly flags: unknown;
  readonly key: string | null;
  readonly waitMs: number;
  readonly goodUntil: Date | null;
}

async function stored(id: string): Promise<Stored | undefined> {
  const [row] = await db.sql<Stored>(
    `select s.queue, s.priority, s.input, s.flags, s.key, s.good_until as "goodUntil",
            (extract(epoch from r.enqueued_at - s.sent_at) * 1000)::float8 as "waitMs"
       from posthaste.submissions s join posthaste.ready_tasks r using (task_id) where task_id = $1`,
    [id],
  );
  return row;
}

test("send() stores a pending task that is due now, with the defaults", async () => {
  const { id } = await db.app().send(note, "hello");
  expect(await stored(id)).toEqual({
    queue: "default",
    priority: 100,
    input: "hello",
    flags: null,
    key: null,
    waitMs: 0,
    goodUntil: null,
  });
});

test("send() stores a missing input as null", async () => {
  const { id } = await db.app().send(touch);
  expect(await stored(id)).toMatchObject({ input: null });
});

test("delayMs counts from the database's clock", async () => {
  const { id } = await db.app().send(note, "later", { delayMs: 90_000 });
  expect(await stored(id)).toMatchObject({ waitMs: 90_000 });
});

test("runAt is the time at which the task is due", async () => {
  const runAt = new Date(Date.now() + 3_600_000);
  const handle = await db.app().send(note, "later", { runAt });
  expect((await handle.info()).enqueuedAt).toEqual(runAt);
});

test("a runAt in the past makes the task due now", async () => {
  const { id } = await db.app().send(note, "late", { runAt: new Date("2001-01-01T00:00:00Z") });
  expect(await stored(id)).toMatchObject({ waitMs: 0 });
});

test("send() stores goodUntil, priority, queue, key and flags", async () => {
  const goodUntil = new Date(Date.now() + 60_000);
  const { id } = await db.app().send(note, "all", {
    goodUntil,
    priority: 7,
    queue: "bulk",
    key: "all-1",
    flags: ["urgent"],
  });
  expect(await stored(id)).toMatchObject({
    goodUntil,
    priority: 7,
    queue: "bulk",
    key: "all-1",
    flags: { urgent: true },
  });
});

test("send() stores the raw input, so that a transform is applied once, in the worker", async () => {
  const count = defineTask({
    name: "count",
    input: z.string().transform((text) => text.length),
    run: (length) => length,
  });
  const app = db.app({ tasks: [count] });
  const handle = await app.send(count, "four");
  expect(await stored(handle.id)).toMatchObject({ input: "four" });
  await app.worker().start();
  expect(await handle.value({ timeoutMs: 30_000 })).toBe(4);
});

test("send() accepts a contract that the app does not list", async () => {
  const contract = defineTask({ name: "elsewhere", input: z.object({ a: z.number() }) });
  const { id } = await db.app().send(contract, { a: 1 });
  expect(await stored(id)).toMatchObject({ input: { a: 1 } });
});

test("every JSON value arrives in the handler as it was sent", async () => {
  const echo = defineTask({ name: "echo", run: (value: unknown[]) => JSON.stringify(value) });
  const app = db.app({ tasks: [echo] });
  await app.worker().start();
  const values = [
    null,
    0,
    -1.5e-7,
    1e21,
    "",
    'quote " backslash \\ newline \n',
    "😀 é \u2028",
    [],
    {},
    [[[]]],
    { "": 1, __proto__x: 2, "a.b": [null] },
    true,
  ];
  const handle = await app.send(echo, values);
  expect(JSON.parse(await handle.value({ timeoutMs: 30_000 }))).toEqual(values);
});

test("send() warns of a large input once per task name, and stores the task", async () => {
  const logger = recordingLogger();
  const app = db.app({ logger, payload: { warnBytes: 1_000 } });
  const first = await app.send(note, "x".repeat(2_000));
  await app.send(note, "y".repeat(2_000));
  await app.send(note, "small");
  const warnings = logger.lines.filter(({ level }) => level === "warn");
  expect(warnings.map(({ fields }) => fields["name"])).toEqual(["note"]);
  expect(await stored(first.id)).toMatchObject({ input: "x".repeat(2_000) });
});

test("the first send creates the schema, also if several apps send first at once", async () => {
  const apps = Array.from({ length: 4 }, () => db.app({ schema: "fresh_one" }));
  const handles = await Promise.all(apps.map((app) => app.send(note, "first")));
  const rows = await db.sql<{ id: string }>("select task_id as id from fresh_one.submissions");
  expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(handles.map(({ id }) => id)));
});

test("send() rejects with SCHEMA_MISMATCH and creates nothing if the schema is missing and autoMigrate is off", async () => {
  const app = db.app({ schema: "missing_one", autoMigrate: false });
  await expect(app.send(note, "x")).rejects.toMatchObject({ code: "SCHEMA_MISMATCH" });
  expect(await db.sql("select from pg_namespace where nspname = 'missing_one'")).toEqual([]);
});
