import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { BEGIN, COMMIT } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { untilWaiting } from "./until-waiting.ts";

const db = useDatabase();

/** Ids in the order given, so that an order by id is the order given too. */
function rows(keys: readonly string[]): string {
  const ids = keys.map(() => randomUUID()).sort();
  const row = { name: "some-task", queue: "default", priority: 100, input: {} };
  return JSON.stringify(keys.map((key, n) => ({ ...row, key, id: ids[n] })));
}

test("two senders of the same keys in opposite orders wait for each other and do not deadlock", async () => {
  const [gate, first, second] = await Promise.all([
    db.connect("sends"),
    db.connect("sends"),
    db.connect("sends"),
  ]);
  const { missing } = db.store.insertTasks;

  // The first sender is stopped in the middle, at a key that somebody has not committed yet.
  await gate.query(BEGIN);
  await missing(gate, rows(["m"]));
  const sentFirst = missing(first, rows(["a", "m", "z"]));
  await untilWaiting(db.sql, 1);
  const sentSecond = missing(second, rows(["z", "m", "a"]));
  await untilWaiting(db.sql, 2);
  await gate.query(COMMIT);

  expect((await sentFirst).size).toBe(2);
  expect((await sentSecond).size).toBe(0);
});

test("two senders of the same ids in opposite orders wait for each other and do not deadlock", async () => {
  const [gate, first, second] = await Promise.all([
    db.connect("sends"),
    db.connect("sends"),
    db.connect("sends"),
  ]);
  const { missing } = db.store.insertTasks;
  const [a = "", m = "", z = ""] = [randomUUID(), randomUUID(), randomUUID()].sort();
  const row = { name: "some-task", queue: "default", priority: 100, input: {} };
  const withIds = (...ids: string[]): string => JSON.stringify(ids.map((id) => ({ ...row, id })));

  await gate.query(BEGIN);
  await missing(gate, withIds(m));
  const sentFirst = missing(first, withIds(a, m, z));
  await untilWaiting(db.sql, 1);
  const sentSecond = missing(second, withIds(z, m, a));
  await untilWaiting(db.sql, 2);
  await gate.query(COMMIT);

  expect(await sentFirst).toEqual(new Set([a, z]));
  expect(await sentSecond).toEqual(new Set());
});
