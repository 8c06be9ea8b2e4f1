import { describe, expect, test } from "vitest";
import type { Connection } from "../../src/store/connection.ts";
import { migrate } from "../../src/store/migrate.ts";
import { sql, statement } from "../../src/store/sql.ts";
import { createStore } from "../../src/store/store.ts";
import { useDatabase } from "../support/database.ts";
import { BEGIN } from "../../src/store/transaction.ts";
import { explain, prepare, scannedTables, type Prepared } from "./explain.ts";
import { hotCalls, type HotProfile } from "./hot-calls.ts";
import { fillSchema, taskId, thousands } from "./million-rows.ts";

// In a schema of its own: the check of the conservation law would read everything after every test.
const SCHEMA = "fresh";
const actions = [
  statement(sql`select fresh.cancel($1)`),
  statement(sql`select fresh.requeue($1)`),
  statement(sql`select fresh.fail($1, 'BROKEN')`),
];
const db = useDatabase({ isEmpty: true });
const store = createStore(SCHEMA);
const calls = hotCalls(thousands);

/** Autovacuum would analyze the tables during the test. */
async function stopAutovacuum(): Promise<void> {
  const tables = await db.sql<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = $1",
    [SCHEMA],
  );
  for (const { name } of tables) {
    await db.sql(`alter table ${SCHEMA}.${name} set (autovacuum_enabled = off)`);
  }
}

/** A plan for each statement, made while there is nothing; seven runs, so that any plan that is kept is kept. */
async function prepareAll(
  sessions: Readonly<Record<HotProfile, Connection>>,
): Promise<Map<string, Prepared>> {
  const prepared = new Map<string, Prepared>();
  for (const { name, profile, call } of calls) {
    const made = await prepare(sessions[profile], (recorder) => call(store, recorder), 7);
    prepared.set(name, made);
  }
  return prepared;
}

describe("plans made on empty tables", () => {
  test("use the indexes after 50,000 rows of each kind have arrived", async () => {
    await migrate(await db.connect("reads"), SCHEMA);
    await stopAutovacuum();
    const sessions = {
      moves: await db.connect("moves"),
      sends: await db.connect("sends"),
      heartbeats: await db.connect("heartbeats"),
      reads: await db.connect("reads"),
    };
    const prepared = await prepareAll(sessions);
    const actor = await db.connect("reads");
    for (const action of actions) {
      for (let run = 0; run < 7; run++) await actor.query(action, [taskId(1)]);
    }
    await fillSchema(db, SCHEMA, thousands);

    for (const { name, profile, indexes, scans = [], scansWhenNew = scans } of calls) {
      const made = prepared.get(name);
      if (made === undefined) throw new Error(`${name} was not prepared`);
      const plan = await explain(sessions[profile], made);

      const scanned = plan.scannedTables.filter((table) => !scansWhenNew.includes(table));
      expect(scanned, `tables that "${name}" reads from end to end`).toEqual([]);
      if (scansWhenNew.length === 0) {
        expect(plan.indexes, name).toEqual(expect.arrayContaining([...indexes]));
        // Walking a whole index is no better than walking the table.
        expect(plan.rowsRead, `rows that "${name}" reads`).toBeLessThan(1_000);
      }
      let ms = plan.executionMs;
      // The machine has other things to do as well: the quickest counts.
      for (let tries = 0; tries < 20 && ms >= 50; tries++) {
        ms = Math.min(ms, (await explain(sessions[profile], made)).executionMs);
      }
      expect(ms, `ms of "${name}"`).toBeLessThan(50);
    }
    await actor.query(BEGIN);
    for (const [n, action] of actions.entries()) {
      // One that was never claimed, one that came back, one that is held.
      for (const id of [10 * n + 1, 10 * n + 3, thousands.all - n])
        await actor.query(action, [taskId(id)]);
    }
    expect(await scannedTables(actor, SCHEMA)).toEqual([]);
  });
});
