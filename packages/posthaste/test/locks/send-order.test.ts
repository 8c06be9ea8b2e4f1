import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
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

describe("send order", () => {
  test("two senders of the same keys in opposite orders wait and do not deadlock", async () => {
    const [gate, first, second] = await Promise.all([
      db.connect("sends"),
      db.connect("sends"),
      db.connect("sends"),
    ]);
    const { insertTasks } = db.store;

    // The first sender is stopped in the middle, at a key that another session has not committed yet.
    await gate.query(BEGIN);
    await insertTasks.missing(gate, rows(["m"]));
    const sentFirst = insertTasks.missing(first, rows(["a", "m", "z"]));
    await untilWaiting(db, 1);
    const sentSecond = insertTasks.missing(second, rows(["z", "m", "a"]));
    await untilWaiting(db, 2);
    await gate.query(COMMIT);

    expect((await sentFirst).size).toBe(2);
    expect((await sentSecond).size).toBe(0);
  });

  test("two senders of the same ids in opposite orders wait and do not deadlock", async () => {
    const [gate, first, second] = await Promise.all([
      db.connect("sends"),
      db.connect("sends"),
      db.connect("sends"),
    ]);
    const { insertTasks } = db.store;
    const [a = "", m = "", z = ""] = [randomUUID(), randomUUID(), randomUUID()].sort();
    const row = { name: "some-task", queue: "default", priority: 100, input: {} };
    const withIds = (...ids: string[]): string => JSON.stringify(ids.map((id) => ({ ...row, id })));

    await gate.query(BEGIN);
    await insertTasks.missing(gate, withIds(m));
    const sentFirst = insertTasks.missing(first, withIds(a, m, z));
    await untilWaiting(db, 1);
    const sentSecond = insertTasks.missing(second, withIds(z, m, a));
    await untilWaiting(db, 2);
    await gate.query(COMMIT);

    expect(await sentFirst).toEqual(new Set([a, z]));
    expect(await sentSecond).toEqual(new Set());
  });
});
