/** Plans of the statements that schedulers repeat, prepared on empty tables and run with ten thousand schedules. */
import { describe, expect, test } from "vitest";
import type { Connection } from "../../src/store/connection.ts";
import { useDatabase } from "../support/database.ts";
import { explain, prepare } from "./explain.ts";

const db = useDatabase();

const FILL = `
  insert into posthaste.schedules (name, owner, task, input, pattern, timezone, missed, max_missed, overlap, jitter_ms,
                                   created_at, next_slot, due_at, buffered_slot, last_task_id)
  select 's' || n, 'database', 't', 'null', '{"kind": "every", "ms": 1000}', 'UTC', 'skip', 100, 'buffer', 0, now(),
         slot, slot, case when n <= 3 then slot end, gen_random_uuid()
    from generate_series(1, 10000) as n
   cross join lateral (select now() + (n - 5) * interval '1 minute' as slot) as planned`;

const question = { now: null, lateMs: 0, except: ["s9"], most: 200 };

describe("a scheduler's statements", () => {
  test("read the few due rows by the index, whatever else there is", async () => {
    const { lockSchedules, watchSchedules } = db.store;
    const [sends, reads] = [await db.connect("sends"), await db.connect("reads")];
    const calls: readonly (readonly [string, Connection, Parameters<typeof prepare>[1], string])[] =
      [
        ["due", sends, (on) => lockSchedules.due(on, question), "schedules_due_idx"],
        ["buffered", sends, (on) => lockSchedules.buffered(on, question), "schedules_buffered_idx"],
        ["busy", sends, (on) => lockSchedules.busy(on, ["s1"]), "schedules_pkey"],
      ];
    const prepared = await Promise.all(calls.map(([, on, call]) => prepare(on, call)));
    const watched = await prepare(reads, (on) => watchSchedules(on, null, ["s9"]));
    await db.sql(FILL);
    for (const [at, [name, on, , index]] of calls.entries()) {
      const asked = prepared[at];
      if (asked === undefined) throw new Error(name);
      const { indexes, scannedTables, rowsRead } = await explain(on, asked);
      expect(indexes, name).toContain(index);
      expect(scannedTables, name).toEqual([]);
      expect(rowsRead, name).toBeLessThan(20);
    }
    // Orphaned schedules are found by reading all of them, once in half a minute where nothing is due.
    const look = await explain(reads, watched);
    expect(look.indexes).toEqual(
      expect.arrayContaining(["schedules_buffered_idx", "schedules_due_idx"]),
    );
    expect(look.executionMs).toBeLessThan(1_000);
  });
});
