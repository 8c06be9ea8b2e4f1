import { expect, test } from "vitest";
import { z } from "zod";
import { defineTask } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

const charge = defineTask({
  name: "charge",
  input: z.object({ cents: z.number() }),
  run: ({ cents }) => cents,
});
const refund = defineTask({ name: "refund", run: ({ cents }: { cents: number }) => cents });

async function rowsWithKey(key: string): Promise<number> {
  return (await db.sql("select from posthaste.submissions where key = $1", [key])).length;
}

test("a live task with that key is returned instead of a new one", async () => {
  const app = db.app();
  const first = await app.send(charge, { cents: 5 }, { key: "live" });
  const second = await app.send(charge, { cents: 5 }, { key: "live" });
  expect(second.id).toBe(first.id);
  expect(await rowsWithKey("live")).toBe(1);
});

test("a finished task with that key is returned, and its result with it", async () => {
  const app = db.app({ tasks: [charge] });
  await app.worker().start();
  const first = await app.send(charge, { cents: 5 }, { key: "finished" });
  await first.value({ timeoutMs: 30_000 });
  const second = await app.send(charge, { cents: 5 }, { key: "finished" });
  expect(second.id).toBe(first.id);
  expect(await second.value({ timeoutMs: 30_000 })).toBe(5);
  expect((await second.info()).attempts).toHaveLength(1);
});

test("the same key with another input is refused and says whose it is", async () => {
  const app = db.app();
  const first = await app.send(charge, { cents: 5 }, { key: "other-input" });
  await expect(app.send(charge, { cents: 6 }, { key: "other-input" })).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
    problems: [
      {
        path: "options.key",
        message: `task ${first.id} was sent with the same key and another input`,
      },
    ],
  });
});

test("inputs that differ only in the order of their fields are the same", async () => {
  const pair = defineTask({ name: "pair", run: (value: { a: number; b: number }) => value.a });
  const app = db.app();
  const first = await app.send(pair, { a: 1, b: 2 }, { key: "order" });
  const second = await app.send(pair, { b: 2, a: 1 }, { key: "order" });
  expect(second.id).toBe(first.id);
});

test("a key belongs to a task's name: another task may use the same", async () => {
  const app = db.app();
  const first = await app.send(charge, { cents: 5 }, { key: "shared" });
  const second = await app.send(refund, { cents: 7 }, { key: "shared" });
  expect(second.id).not.toBe(first.id);
});

test("fifty senders of one key at once, from two clients, make one task", async () => {
  const apps = [db.app(), db.app()];
  const handles = await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      (apps[n % 2] ?? db.app()).send(charge, { cents: 5 }, { key: "race" }),
    ),
  );
  expect(new Set(handles.map(({ id }) => id)).size).toBe(1);
  expect(await rowsWithKey("race")).toBe(1);
});

test("of fifty senders of one key with fifty inputs at once, one is served and the others are told", async () => {
  const app = db.app();
  const settled = await Promise.allSettled(
    Array.from({ length: 50 }, (_, cents) => app.send(charge, { cents }, { key: "quarrel" })),
  );
  expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const one of settled) {
    if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "VALIDATION_FAILED" });
  }
  expect(await rowsWithKey("quarrel")).toBe(1);
});

test("many keys sent crosswise by two clients do not deadlock", async () => {
  const [one, two] = [db.app(), db.app()];
  const keys = Array.from({ length: 200 }, (_, n) => `cross-${n}`);
  const items = (order: string[]) => order.map((key) => ({ input: { cents: 1 }, key }));
  const [first, second] = await Promise.all([
    one.sendMany(charge, items(keys)),
    two.sendMany(charge, items(keys.toReversed())),
  ]);
  expect(second.map(({ id }) => id).toReversed()).toEqual(first.map(({ id }) => id));
});

test("a keyed task that PostgreSQL refuses fails alone", async () => {
  await db.sql(
    "alter table posthaste.submissions add constraint test_only check (key <> 'bad') not valid",
  );
  try {
    const app = db.app();
    await app.send(charge, { cents: 0 }); // connected: what follows travels together
    const keys = ["a", "b", "bad", "c"];
    const settled = await Promise.allSettled(
      keys.map((key) => app.send(charge, { cents: 5 }, { key })),
    );
    expect(settled.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    expect(settled[2]).toMatchObject({
      reason: {
        code: "VALIDATION_FAILED",
        message: expect.stringContaining("PostgreSQL refused the task"),
      },
    });
  } finally {
    await db.sql("alter table posthaste.submissions drop constraint test_only");
  }
});
