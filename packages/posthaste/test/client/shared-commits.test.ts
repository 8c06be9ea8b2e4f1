import { expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

const note = defineTask({ name: "note", run: (text: string) => text });

test("five hundred concurrent sends share a handful of commits", async () => {
  const app = db.app();
  const handles = await Promise.all(
    Array.from({ length: 500 }, (_, n) => app.send(note, `shared ${n}`)),
  );
  const [row] = await db.sql<{ tasks: number; transactions: number }>(
    `select count(*)::int as tasks, count(distinct xmin::text)::int as transactions
       from posthaste.submissions where task_id = any ($1)`,
    [handles.map(({ id }) => id)],
  );
  expect(row?.tasks).toBe(500);
  expect(row?.transactions).toBeLessThan(10);
});

test("five hundred concurrent keyed sends share commits too", async () => {
  const app = db.app();
  await Promise.all(
    Array.from({ length: 500 }, (_, n) => app.send(note, "x", { key: `keyed ${n}` })),
  );
  const [row] = await db.sql<{ tasks: number; transactions: number }>(
    `select count(*)::int as tasks, count(distinct xmin::text)::int as transactions
       from posthaste.submissions where key like 'keyed %'`,
  );
  expect(row?.tasks).toBe(500);
  expect(row?.transactions).toBeLessThan(10);
});

test("a send without concurrent sends is not delayed", async () => {
  const app = db.app();
  await app.send(note, "warm");
  // A wait for other sends would delay each send; a busy machine delays only some.
  let quickest = Infinity;
  for (let n = 0; n < 50; n++) {
    const begun = performance.now();
    await app.send(note, `alone ${n}`);
    quickest = Math.min(quickest, performance.now() - begun);
  }
  expect(quickest).toBeLessThan(20);
});

test("the promise of a send resolves only after its commit: another session sees the row at that moment", async () => {
  // The deferred trigger makes each commit take 100 ms.
  await db.sql(`
    create function slow_commit() returns trigger language plpgsql as $$
    begin perform pg_sleep(0.1); return null; end $$;
    create constraint trigger slow_commit after insert on posthaste.submissions
      deferrable initially deferred for each row when (new.name = 'slow') execute function slow_commit()`);
  const slow = defineTask({ name: "slow", run: () => null });
  const app = db.app();
  const seen = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const { id } = await app.send(slow);
      return (await db.sql("select from posthaste.submissions where task_id = $1", [id])).length;
    }),
  );
  expect(seen).toEqual([1, 1, 1, 1]);
  await db.sql("drop trigger slow_commit on posthaste.submissions");
});

test("a row that PostgreSQL refuses fails only its own send; the others of its flush are stored", async () => {
  await db.sql(
    `alter table posthaste.submissions add constraint test_only check (input::jsonb <> '"bad"') not valid`,
  );
  try {
    const app = db.app();
    await app.send(note, "connected");
    const texts = Array.from({ length: 30 }, (_, n) => (n === 7 || n === 23 ? "bad" : `good ${n}`));
    const settled = await Promise.allSettled(texts.map((text) => app.send(note, text)));
    const failed = settled.flatMap(({ status }, n) => (status === "rejected" ? [n] : []));
    expect(failed).toEqual([7, 23]);
    expect(settled[7]).toMatchObject({
      reason: {
        code: "VALIDATION_FAILED",
        message: expect.stringContaining("PostgreSQL refused the task"),
      },
    });
    const stored = await db.sql(
      "select from posthaste.submissions where input::text like '\"good%'",
    );
    expect(stored).toHaveLength(28);
  } finally {
    await db.sql("alter table posthaste.submissions drop constraint test_only");
  }
});

test("a large sendMany does not block single sends", async () => {
  const app = db.app();
  await app.send(note, "warm");
  let isBulkSent = false;
  const bulk = app
    .sendMany(
      note,
      Array.from({ length: 50_000 }, (_, n) => `bulk ${n}`),
    )
    .then(() => (isBulkSent = true));
  const latencies: number[] = [];
  for (;;) {
    const begun = performance.now();
    await app.send(note, "between");
    if (isBulkSent) break;
    latencies.push(performance.now() - begun);
  }
  await bulk;
  expect(latencies.length).toBeGreaterThan(3);
});
