import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { placesOf } from "./task-rows.ts";

const db = useDatabase();

/** A row as a sender makes it, and its JSON text. */
function outgoing(fields: Readonly<Record<string, unknown>> = {}) {
  const row = {
    id: randomUUID(),
    name: "some-task",
    queue: "default",
    priority: 100,
    input: {},
    ...fields,
  };
  return { id: row.id, text: JSON.stringify(row) };
}

function batch(...rows: readonly { readonly text: string }[]): string {
  return `[${rows.map(({ text }) => text).join(",")}]`;
}

async function send(fields: Readonly<Record<string, unknown>>): Promise<string> {
  const row = outgoing(fields);
  await db.store.insertTasks.fresh(await db.connect("sends"), batch(row));
  return row.id;
}

interface Submission {
  readonly input: unknown;
  readonly inputText: string;
  readonly options: unknown;
  readonly flags: unknown;
  readonly sentAt: Date;
  readonly runAt: Date | null;
  readonly enqueuedAt: Date;
  readonly goodUntil: Date | null;
  readonly readyGoodUntil: Date | null;
}

async function submissionOf(id: string): Promise<Submission> {
  const [row] = await db.sql<Submission>(
    `select input, input::text as "inputText", options, flags, sent_at as "sentAt", run_at as "runAt",
            enqueued_at as "enqueuedAt", s.good_until as "goodUntil", r.good_until as "readyGoodUntil"
       from posthaste.submissions s join posthaste.ready_tasks r using (task_id) where task_id = $1`,
    [id],
  );
  if (row === undefined) throw new Error("the task is not there");
  return row;
}

describe("insertTasks", () => {
  test("stores fresh rows as pending, without attempts or retries", async () => {
    const id = await send({ name: "greet", queue: "mail", priority: 7 });

    const { ready, active, finished } = await placesOf(db, id);
    expect([active, finished]).toEqual([null, null]);
    expect(ready).toEqual({
      task_id: id,
      queue: "mail",
      priority: 7,
      enqueued_at: expect.any(String),
      attempt_no: null,
      retry_count: null,
      crash_count: null,
      good_until: null,
    });
  });

  test("stores no fresh row if one of them exists", async () => {
    const connection = await db.connect("sends");
    const known = outgoing();
    const unknown = outgoing();
    await db.store.insertTasks.fresh(connection, batch(known));

    await expect(
      db.store.insertTasks.fresh(connection, batch(unknown, known)),
    ).rejects.toMatchObject({ code: "23505" });

    expect((await placesOf(db, unknown.id)).ready).toBeNull();
  });

  test("stores options and flags as they were sent", async () => {
    const options = { retry: { maxRetries: 3 } };
    const { options: storedOptions, flags } = await submissionOf(
      await send({ options, flags: { urgent: true } }),
    );

    expect(storedOptions).toEqual(options);
    expect(flags).toEqual({ urgent: true });
  });

  test("keeps one task with its first content for a repeated id", async () => {
    const connection = await db.connect("sends");
    const first = outgoing({ input: "first" });
    const again = outgoing({ id: first.id, input: "second" });

    expect(await db.store.insertTasks.missing(connection, batch(first))).toEqual(
      new Set([first.id]),
    );
    expect(await db.store.insertTasks.missing(connection, batch(again))).toEqual(new Set());

    expect((await submissionOf(first.id)).input).toBe("first");
  });

  test("stores one task for an id that is twice in a batch, and the rest of the batch", async () => {
    const connection = await db.connect("sends");
    const twice = outgoing();
    const other = outgoing();

    const inserted = await db.store.insertTasks.missing(connection, batch(twice, other, twice));

    expect(inserted).toEqual(new Set([twice.id, other.id]));
    expect((await placesOf(db, twice.id)).ready).not.toBeNull();
  });

  test("stores one task for a key that is twice in a batch", async () => {
    const connection = await db.connect("sends");
    const key = randomUUID();

    const inserted = await db.store.insertTasks.missing(
      connection,
      batch(outgoing({ key }), outgoing({ key }), outgoing({ key })),
    );

    expect(inserted.size).toBe(1);
  });

  test("finds the first task of a key, and whether its input was the same", async () => {
    const connection = await db.connect("sends");
    const key = randomUUID();
    const first = outgoing({ key, input: { a: 1, b: [2] } });
    const same = outgoing({ key, input: { b: [2], a: 1 } });
    const other = outgoing({ key, input: { a: 2 } });
    await db.store.insertTasks.missing(connection, batch(first));

    expect(await db.store.insertTasks.missing(connection, batch(same, other))).toEqual(new Set());
    const found = await db.store.matchSubmissions(connection, batch(same, other));

    const stored = { id: first.id, by: "key", sameTask: true };
    expect(found).toHaveLength(2);
    expect(found).toContainEqual({ ...stored, askedId: same.id, sameInput: true });
    expect(found).toContainEqual({ ...stored, askedId: other.id, sameInput: false });
  });

  test("stores another task for the same key under another name", async () => {
    const connection = await db.connect("sends");
    const key = randomUUID();

    const rows = batch(outgoing({ key, name: "one" }), outgoing({ key, name: "two" }));

    expect((await db.store.insertTasks.missing(connection, rows)).size).toBe(2);
  });

  test("reports an id that belongs to another task", async () => {
    const connection = await db.connect("sends");
    const first = outgoing({ name: "one", input: null });
    await db.store.insertTasks.missing(connection, batch(first));
    const match = (fields: Readonly<Record<string, unknown>>) =>
      db.store.matchSubmissions(connection, batch(outgoing({ id: first.id, ...fields })));

    const stored = { askedId: first.id, id: first.id, by: "id" };
    expect(await match({ name: "one", input: null })).toEqual([
      { ...stored, sameInput: true, sameTask: true },
    ]);
    expect(await match({ name: "two", input: 5 })).toEqual([
      { ...stored, sameInput: false, sameTask: false },
    ]);
  });

  test("stores one task for fifty concurrent senders of one key, and all find it", async () => {
    const connections = await Promise.all(Array.from({ length: 50 }, () => db.connect("sends")));
    const key = randomUUID();
    const rows = connections.map(() => batch(outgoing({ key })));

    const inserted = await Promise.all(
      connections.map((connection, n) => db.store.insertTasks.missing(connection, rows[n] ?? "[]")),
    );
    const found = await Promise.all(
      connections.map((connection, n) => db.store.matchSubmissions(connection, rows[n] ?? "[]")),
    );

    const winners = inserted.flatMap((ids) => [...ids]);
    expect(winners).toHaveLength(1);
    const byKey = found.flat().filter(({ by }) => by === "key");
    expect(byKey.map(({ id }) => id)).toEqual(rows.map(() => winners[0]));
  });

  test("counts a delay from the time of sending", async () => {
    const { sentAt, runAt, enqueuedAt } = await submissionOf(await send({ delay_ms: 90_000 }));

    expect(runAt).toEqual(enqueuedAt);
    expect(enqueuedAt.getTime() - sentAt.getTime()).toBe(90_000);
  });

  test("turns a past time into the time of sending, and keeps a later time", async () => {
    const past = await submissionOf(await send({ run_at: "2020-01-01T00:00:00Z" }));
    const future = await submissionOf(await send({ run_at: "2090-01-01T00:00:00Z" }));

    expect(past.enqueuedAt).toEqual(past.sentAt);
    expect(past.runAt).toBeNull();
    expect(Math.abs(past.sentAt.getTime() - Date.now())).toBeLessThan(60_000);
    expect(future.enqueuedAt).toEqual(new Date("2090-01-01T00:00:00Z"));
    expect(future.runAt).toEqual(future.enqueuedAt);
  });

  test("stores a deadline in the submission and in the ready row", async () => {
    const deadline = new Date("2090-01-01T00:00:00Z");
    const { goodUntil, readyGoodUntil } = await submissionOf(
      await send({ good_until: deadline.toISOString() }),
    );

    expect([goodUntil, readyGoodUntil]).toEqual([deadline, deadline]);
  });

  test("stores the input null as JSON null", async () => {
    expect((await submissionOf(await send({ input: null }))).inputText).toBe("null");
  });

  test("stores names, queues, keys and inputs of any language", async () => {
    const text = 'Grüße, 你好, שלום, 👩‍👩‍👧‍👦 – it\'s "fine" \\ $1 %s';
    const id = await send({ name: text, queue: text, key: text, input: { [text]: text } });

    const [row] = await db.sql(
      "select name, queue, key, input from posthaste.submissions where task_id = $1",
      [id],
    );
    expect(row).toEqual({ name: text, queue: text, key: text, input: { [text]: text } });
  });

  test("stores every JSON value that PostgreSQL can hold unchanged", async () => {
    const connection = await db.connect("sends");
    const storable = fc
      .jsonValue({ stringUnit: "binary" })
      .filter((value) => !JSON.stringify(value).includes("\\u0000"));

    await fc.assert(
      fc.asyncProperty(fc.array(storable, { minLength: 1, maxLength: 20 }), async (inputs) => {
        const rows = inputs.map((input) => outgoing({ input }));
        await db.store.insertTasks.fresh(connection, batch(...rows));
        const stored = await db.sql<{ input: unknown }>(
          `select input from unnest($1::uuid[]) with ordinality as asked (id, n)
           join posthaste.submissions on task_id = id order by n`,
          [rows.map(({ id }) => id)],
        );
        const expected: unknown = JSON.parse(JSON.stringify(inputs));
        return isDeepStrictEqual(
          stored.map(({ input }) => input),
          expected,
        );
      }),
      { numRuns: 50 },
    );
  });
});
