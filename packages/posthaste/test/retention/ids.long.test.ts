/** More rows than a round of retention walks over: see ids.test.ts. */
import { describe, expect, test } from "vitest";
import { pruneAll } from "../../src/recovery/prune.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { addEnded, addManyEnded, defaults, pruneOnce, withDatabase } from "./old-rows.ts";

const db = useDatabase();
useCleanTables(db);

const lately = { sent: "now() - interval '40 days' - n * interval '1 second'", ended: "now()" };

describe("pruneRecords", () => {
  test("continues where the last round stopped among old tasks that ended lately", async () => {
    await addManyEnded(db, 510_000, lately);
    await addEnded(db, [{ ago: "32 days", sentAgo: "33 days" }]);
    await withDatabase(db, async (database) => {
      const places = new Map();
      const rounds = [];
      for (let round = 0; round < 2; round++)
        rounds.push(await pruneOnce(db, {}, { categories: ["terminalRecords"], places }));
      expect(rounds).toMatchObject([
        { terminalRecords: 0, unfinished: ["terminalRecords"] },
        { terminalRecords: 1, unfinished: [] },
      ]);
      await addEnded(db, [{ ago: "32 days", sentAgo: "33 days" }]);
      expect(await pruneAll(database, defaults, false)).toMatchObject({ terminalRecords: 1 });
    });
  });
});
