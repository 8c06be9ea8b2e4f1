import { expect, test } from "vitest";
import type { Connection } from "../../src/store/connection.ts";
import { migrate } from "../../src/store/migrate.ts";
import { createStore } from "../../src/store/store.ts";
import { useDatabase } from "../support/database.ts";
import { explain, prepare, type Prepared } from "./explain.ts";
import { hotCalls, type HotProfile } from "./hot-calls.ts";
import { fillSchema, thousands } from "./million-rows.ts";

// In a schema of its own: the check of the conservation law would read everything after every test.
const SCHEMA = "fresh";
const db = useDatabase({ isEmpty: true });
const store = createStore(SCHEMA);
const calls = hotCalls(thousands);

/** Nobody analyzes behind the test's back. */
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

test("plans made on empty tables still use the indexes when 50,000 rows of each kind have arrived", async () => {
  await migrate(await db.connect("reads"), SCHEMA);
  await stopAutovacuum();
  const sessions = {
    moves: await db.connect("moves"),
    sends: await db.connect("sends"),
    reads: await db.connect("reads"),
  };
  const prepared = await prepareAll(sessions);
  await fillSchema(db, SCHEMA, thousands);

  for (const { name, profile, indexes, scansWhenNew = [] } of calls) {
    const statement = prepared.get(name);
    if (statement === undefined) throw new Error(`${name} was not prepared`);
    const plan = await explain(sessions[profile], statement);
    const again = await explain(sessions[profile], statement);

    const stray = plan.scannedTables.filter((table) => !scansWhenNew.includes(table));
    expect(stray, `tables that "${name}" reads from end to end`).toEqual([]);
    if (scansWhenNew.length === 0) {
      expect(plan.indexes, name).toEqual(expect.arrayContaining([...indexes]));
      // A worker has 2,500 of the 50,000; walking a whole index is no better than walking the table.
      expect(plan.rowsRead, `rows that "${name}" reads`).toBeLessThan(6_000);
    }
    const ms = Math.min(plan.executionMs, again.executionMs); // the machine has other things to do as well
    expect(ms, `ms of "${name}"`).toBeLessThan(50);
  }
});
