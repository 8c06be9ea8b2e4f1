/** Ended tasks are found by their ids, which say when they were sent; and those of other ids are found all the same. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { uuidV7 } from "../../src/sending/uuid-v7.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { addEnded, addManyEnded, idsMade, pruneOnce, type EndedSeed } from "./old-rows.ts";

const db = useDatabase();
useCleanTables(db);

const [old, young] = ["720 hours 2 seconds", "720 hours -20 seconds"];

async function kept(): Promise<string[]> {
  const rows = await db.sql<{ id: string }>("select task_id as id from posthaste.finished_tasks");
  return rows.map(({ id }) => id);
}

/** Adds an old one and a young one for each id, and expects that a round takes the old ones and counts them before. */
async function expectOldOnesToGo(ids: readonly (readonly [string, string])[]): Promise<void> {
  const stay = ids.map(([, id]) => id);
  await addEnded(
    db,
    ids.flatMap(([first, second]): EndedSeed[] => [
      { id: first, ago: old },
      { id: second, ago: young },
    ]),
  );
  const counts = { terminalRecords: ids.length };
  expect(await pruneOnce(db, {}, { dryRun: true })).toMatchObject(counts);
  expect(await pruneOnce(db)).toMatchObject({ ...counts, unfinished: [] });
  expect(new Set(await kept())).toEqual(new Set(stay));
}

/** Ids of version 4 that begin with this. */
function random(beginning: string, count = 200): [string, string][] {
  const make = () => beginning + randomUUID().slice(beginning.length);
  return Array.from({ length: count }, () => [make(), make()]);
}

describe("pruneRecords", () => {
  test("first_id_at is just below the ids that a client makes at that time", async () => {
    const [first, id, later] = [Date.now(), uuidV7(), Date.now() + 1];
    const [row] = await db.sql<{ isBetween: boolean }>(
      `select $2::uuid >= posthaste.first_id_at(to_timestamp($1::float8 / 1000))
            and $2::uuid < posthaste.first_id_at(to_timestamp($3::float8 / 1000)) as "isBetween"`,
      [first, id, later],
    );
    expect(row?.isBetween).toBe(true);
  });

  describe("deletes old tasks by age, not by an id of the caller's own", () => {
    test("that is random", () => expectOldOnesToGo(random("a")));
    test("that looks very old", () => expectOldOnesToGo(random("00")));
    test("that looks far in the future", () => expectOldOnesToGo(random("02")));
    test("that is smallest and largest", () =>
      expectOldOnesToGo([
        ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
        ["ffffffff-ffff-ffff-ffff-fffffffffffe", "00000000-0000-0000-0000-000000000001"],
      ]));
    test("at the end of the walked range", () =>
      expectOldOnesToGo([
        ["03ffffff-ffff-ffff-ffff-ffffffffffff", "04000000-0000-0000-0000-000000000001"],
        ["04000000-0000-0000-0000-000000000000", "03ffffff-ffff-ffff-ffff-fffffffffffe"],
      ]));

    test("of version 7, of any time but the last month", async () => {
      const times = ["20 years", "721 hours", "-2 hours", "-1 day", "-70 years"];
      const firsts = await idsMade(db, times);
      const seconds = await idsMade(db, times);
      await expectOldOnesToGo(firsts.map((id, index) => [id, seconds[index] ?? ""]));
    });

    test("but keeps one whose id names a later time within the month for a month from then", async () => {
      const [id] = await idsMade(db, ["10 days"]);
      await addEnded(db, [{ ...(id !== undefined && { id }), ago: "60 days" }]);
      expect(await pruneOnce(db, {}, { dryRun: true })).toMatchObject({ terminalRecords: 0 });
      expect(await pruneOnce(db)).toMatchObject({ terminalRecords: 0, unfinished: [] });
      expect(await pruneOnce(db, { terminalRecordRetentionHours: 239 })).toMatchObject({
        terminalRecords: 1,
      });
    });

    test("also when there are more than a round may take", async () => {
      await addManyEnded(db, 60_000, {
        // None of them names a time in the last month.
        id: "overlay(gen_random_uuid()::text placing 'a' from 1)::uuid",
        sent: "now() - interval '70 days'",
        ended: "now() - interval '60 days' - (n / 2) * interval '1 second'",
      });
      const first = await pruneOnce(db);
      expect(first).toMatchObject({ terminalRecords: 48_000, unfinished: ["terminalRecords"] });
      const second = await pruneOnce(db);
      expect(second).toMatchObject({ terminalRecords: 12_000, unfinished: [] });
    });
  });

  describe("with old tasks that ended lately", () => {
    const lately = { sent: "now() - interval '40 days' - n * interval '1 second'", ended: "now()" };

    test("walks over 100,000 of them in one round and finds the tasks behind them", async () => {
      await addManyEnded(db, 100_000, lately);
      await addEnded(db, [
        { ago: "32 days", sentAgo: "33 days" },
        { ago: "32 days", id: randomUUID() },
      ]);
      expect(await pruneOnce(db)).toMatchObject({ terminalRecords: 2, unfinished: [] });
      expect(await kept()).toHaveLength(100_000);
    });
  });
});
