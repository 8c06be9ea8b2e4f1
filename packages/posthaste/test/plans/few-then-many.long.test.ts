/** A session that was asked about a few rows, while the tables were nearly empty, is as fast with many as a new session. */
import { beforeAll, describe, expect, test } from "vitest";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";
import { taskCalls, type SizedCall } from "./few-then-many.ts";

const db = useDatabase();
useCleanTables(db);

/** PostgreSQL decides about a plan to keep after five runs. */
const FEW_RUNS = 7;
/** The largest batch that anything in the engine makes is 5,000. */
const MANY = 5_000;
/** A plan that reads all rows for each row takes many seconds; a busy machine delays a statement by less than this. */
const SLACK_MS = 1_500;

beforeAll(async () => {
  // Autovacuum would analyze the tables, and PostgreSQL would make the plans anew.
  await db.sql(`
    do $$ begin
      execute (select string_agg(format('alter table posthaste.%I set (autovacuum_enabled = off)', relname), ';')
                 from pg_class where relnamespace = 'posthaste'::regnamespace and relkind = 'r');
    end $$`);
});

async function compare({ profile, prepare }: SizedCall): Promise<[newMs: number, usedMs: number]> {
  const used = await db.connect(profile);
  for (let run = 0; run < FEW_RUNS; run++) {
    const call = await prepare(db, 3);
    await call(used);
  }
  const fresh = await db.connect(profile);
  const best: [number, number] = [Infinity, Infinity];
  for (let round = 0; round < 2; round++) {
    for (const [n, session] of [fresh, used].entries()) {
      const call = await prepare(db, MANY);
      const startedAt = performance.now();
      await call(session);
      best[n] = Math.min(best[n] ?? Infinity, performance.now() - startedAt);
    }
  }
  return best;
}

describe("session used with few rows", () => {
  test.each(Object.keys(taskCalls))(
    "is as fast with many rows as a new session: %s",
    async (name) => {
      const call = taskCalls[name];
      if (call === undefined) throw new Error(`no call named ${name}`);
      const [newMs, usedMs] = await compare(call);
      figures(name, { newMs: Math.round(newMs), usedMs: Math.round(usedMs) });
      expect(usedMs).toBeLessThan(2 * newMs + SLACK_MS);
    },
    180_000,
  );
});
