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

test("send() returns a live task with the same key instead of a new one", async () => {
  const app = db.app();
  const first = await app.send(charge, { cents: 5 }, { key: "live" });
  const second = await app.send(charge, { cents: 5 }, { key: "live" });
  expect(second.id).toBe(first.id);
  expect(await rowsWithKey("live")).toBe(1);
});

test("send() returns a finished task with the same key, and its result", async () => {
  const app = db.app({ tasks: [charge] });
  await app.worker().start();
  const first = await app.send(charge, { cents: 5 }, { key: "finished" });
  await first.value({ timeoutMs: 30_000 });
  const second = await app.send(charge, { cents: 5 }, { key: "finished" });
  expect(second.id).toBe(first.id);
  expect(await second.value({ timeoutMs: 30_000 })).toBe(5);
  expect((await second.info()).attempts).toHaveLength(1);
});

test("send() refuses a used key with another input, and names the task that has it", async () => {
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

test("send() treats inputs that differ only in the order of their fields as equal", async () => {
  const pair = defineTask({ name: "pair", run: (value: { a: number; b: number }) => value.a });
  const app = db.app();
  const first = await app.send(pair, { a: 1, b: 2 }, { key: "order" });
  const second = await app.send(pair, { b: 2, a: 1 }, { key: "order" });
  expect(second.id).toBe(first.id);
});

test("a key is unique per task name: another task may use it", async () => {
  const app = db.app();
  const first = await app.send(charge, { cents: 5 }, { key: "shared" });
  const second = await app.send(refund, { cents: 7 }, { key: "shared" });
  expect(second.id).not.toBe(first.id);
});

test("fifty concurrent sends of one key, from two clients, make one task", async () => {
  const apps = [db.app(), db.app()];
  const handles = await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      (apps[n % 2] ?? db.app()).send(charge, { cents: 5 }, { key: "race" }),
    ),
  );
  expect(new Set(handles.map(({ id }) => id)).size).toBe(1);
  expect(await rowsWithKey("race")).toBe(1);
});

test("one of fifty concurrent sends of one key with different inputs succeeds, and the others are refused", async () => {
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

test("two clients that send the same keys in opposite order do not deadlock", async () => {
  const [one, two] = [db.app(), db.app()];
  const keys = Array.from({ length: 200 }, (_, n) => `cross-${n}`);
  const items = (order: string[]) => order.map((key) => ({ input: { cents: 1 }, key }));
  const [first, second] = await Promise.all([
    one.sendMany(charge, items(keys)),
    two.sendMany(charge, items(keys.toReversed())),
  ]);
  expect(second.map(({ id }) => id).toReversed()).toEqual(first.map(({ id }) => id));
});

test("a keyed task that PostgreSQL refuses fails only its own send", async () => {
  await db.sql(
    "alter table posthaste.submissions add constraint test_only check (key <> 'bad') not valid",
  );
  try {
    const app = db.app();
    await app.send(charge, { cents: 0 }); // connects, so that the next sends share a statement
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
