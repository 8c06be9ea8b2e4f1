import { beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { defineTask, PosthasteError } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

const add = defineTask({
  name: "add",
  input: z.object({ a: z.number() }),
  run: ({ a }) => a,
});

beforeEach(async () => {
  await db.sql(
    "truncate posthaste.submissions, posthaste.ready_tasks, posthaste.active_tasks, posthaste.finished_tasks",
  );
});

async function count(): Promise<number> {
  const [row] = await db.sql<{ n: number }>("select count(*)::int as n from posthaste.submissions");
  return row?.n ?? -1;
}

async function problemsOf(sending: Promise<unknown>) {
  const error: unknown = await sending.catch((thrown: unknown) => thrown);
  if (!(error instanceof PosthasteError))
    throw new Error(`expected a refusal, got ${String(error)}`);
  return { code: error.code, problems: error.problems };
}

test("sendMany stores a hundred thousand tasks in one transaction, in their order", async () => {
  const items = Array.from({ length: 100_000 }, (_, a) => ({ a }));
  const handles = await db.app().sendMany(add, items);
  const [row] = await db.sql(
    `select count(*)::int as n, count(distinct xmin::text)::int as transactions, min((input->>'a')::int) as least,
            max((input->>'a')::int) as most from posthaste.submissions`,
  );
  expect(row).toEqual({ n: 100_000, transactions: 1, least: 0, most: 99_999 });
  const [last] = await db.sql("select input from posthaste.submissions where task_id = $1", [
    handles[99_999]?.id,
  ]);
  expect(last).toEqual({ input: { a: 99_999 } });
});

test("sendMany applies the shared options, and the options of an item override them", async () => {
  const runAt = new Date(Date.now() + 60_000);
  const handles = await db
    .app()
    .sendMany(
      add,
      [{ a: 1 }, { input: { a: 2 }, priority: 1 }, { input: { a: 3 }, key: "three" }],
      {
        priority: 9,
        queue: "bulk",
        runAt,
      },
    );
  const infos = await Promise.all(handles.map((handle) => handle.info()));
  expect(infos.map(({ priority, queue, enqueuedAt }) => ({ priority, queue, enqueuedAt }))).toEqual(
    [9, 1, 9].map((priority) => ({ priority, queue: "bulk", enqueuedAt: runAt })),
  );
});

test("sendMany sends nothing if one item is bad, and reports every problem with its path", async () => {
  const items = [
    { a: 1 },
    { a: "2" as unknown as number },
    { a: 3 },
    { input: { a: Number.NaN }, priority: 0 },
    { input: { a: 5 }, prioirty: 1 },
    { input: { a: 6 }, priority: 0, delayMs: -1 },
  ];
  const { code, problems } = await problemsOf(db.app().sendMany(add, items));
  expect(code).toBe("VALIDATION_FAILED");
  expect(problems.map(({ path }) => path)).toEqual([
    "items[1].input.a",
    "items[3].input.a",
    "items[4].options",
    "items[5].options.delayMs",
    "items[5].options.priority",
  ]);
  expect(problems[2]?.message).toContain('did you mean "priority"?');
  expect(await count()).toBe(0);
});

test("sendMany reports only the first 20 problems of a hundred thousand bad items", async () => {
  const items = Array.from({ length: 100_000 }, () => ({ a: Number.NaN }));
  const { problems } = await problemsOf(db.app().sendMany(add, items));
  expect(problems).toHaveLength(20);
});

test("sendMany names an item that is too large, and sends nothing", async () => {
  const text = defineTask({ name: "text", run: (value: string) => value });
  const app = db.app({ payload: { rejectBytes: 100 } });
  await expect(app.sendMany(text, ["a", "b", "x".repeat(200)])).rejects.toMatchObject({
    code: "PAYLOAD_TOO_LARGE",
    message: expect.stringMatching(/items\[2\].*202 bytes.*100/),
  });
  expect(await count()).toBe(0);
});

test("sendMany stores nothing if PostgreSQL refuses one row", async () => {
  await db.sql(
    `alter table posthaste.submissions add constraint test_only check (input::jsonb <> '{"a": 2500}') not valid`,
  );
  try {
    const items = Array.from({ length: 5_000 }, (_, a) => ({ a }));
    const { code } = await problemsOf(db.app().sendMany(add, items));
    expect(code).toBe("VALIDATION_FAILED");
    expect(await count()).toBe(0);
  } finally {
    await db.sql("alter table posthaste.submissions drop constraint test_only");
  }
});

test("sendMany returns no handles for an empty list", async () => {
  expect(await db.app().sendMany(add, [])).toEqual([]);
});

test("sendMany refuses a transaction inside an item", async () => {
  const items = [{ input: { a: 1 }, tx: { query: async () => ({ rows: [] }) } }];
  const { problems } = await problemsOf(db.app().sendMany(add, items));
  expect(problems.map(({ path }) => path)).toEqual(["items[0].options.tx"]);
});

test("sendMany makes one task of items with the same key", async () => {
  const one = { input: { a: 1 }, key: "k" };
  const [first, second, other] = await db
    .app()
    .sendMany(add, [one, one, { input: { a: 2 }, key: "l" }]);
  expect(second?.id).toBe(first?.id);
  expect(other?.id).not.toBe(first?.id);
  expect(await count()).toBe(2);
});

test("sendMany refuses all items if one has a used key and another input", async () => {
  const app = db.app();
  await app.send(add, { a: 1 }, { key: "k" });
  const items = [{ a: 7 }, { input: { a: 2 }, key: "k" }];
  const { code } = await problemsOf(app.sendMany(add, items));
  expect(code).toBe("VALIDATION_FAILED");
  expect(await count()).toBe(1);
});

test("sendMany makes one task of items with the same id and content, and refuses different content", async () => {
  const id = crypto.randomUUID();
  const [first, second] = await db.app().sendMany(add, [
    { input: { a: 1 }, id },
    { input: { a: 1 }, id },
  ]);
  expect([first?.id, second?.id]).toEqual([id, id]);

  const other = crypto.randomUUID();
  const { code } = await problemsOf(
    db.app().sendMany(add, [
      { input: { a: 1 }, id: other },
      { input: { a: 2 }, id: other },
    ]),
  );
  expect(code).toBe("VALIDATION_FAILED");
  expect(await count()).toBe(1);
});

test("an idle worker processes all tasks of one sendMany", async () => {
  const app = db.app({ tasks: [add] });
  await app.worker({ concurrency: 20 }).start();
  const handles = await app.sendMany(
    add,
    Array.from({ length: 300 }, (_, a) => ({ a })),
  );
  const values = await Promise.all(handles.map((handle) => handle.value({ timeoutMs: 30_000 })));
  expect(values).toEqual(Array.from({ length: 300 }, (_, a) => a));
});
