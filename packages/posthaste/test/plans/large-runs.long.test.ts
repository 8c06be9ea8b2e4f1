/** A session that has moved small runs moves a large one with as few pages as a session that has moved none. */
import { beforeAll, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";
import { RunMover } from "./large-runs.ts";

const db = useDatabase();
/** Whatever reads a graph for each of its nodes looks at ten times as many pages. */
const SIZE = 1_500;
/** The few pages of a small run, and rows that moved to another page. */
const SLACK = 2_000;

beforeAll(async () => {
  // Autovacuum would analyze the tables, and PostgreSQL would make the plans anew.
  await db.sql(`
    do $$ begin
      execute (select string_agg(format('alter table posthaste.%I set (autovacuum_enabled = off)', relname), ';')
                 from pg_class where relnamespace = 'posthaste'::regnamespace and relkind = 'r');
    end $$`);
});

describe("large runs", () => {
  // "moves": as workers and starts do it. "migrations": the usual planner settings, as in psql or a caller's transaction.
  test.each(["moves", "migrations"] as const)(
    "are moved with as few pages by a used session as by a new one, for %s",
    async (profile) => {
      const used = await db.connect(profile);
      for (let life = 0; life < 7; life++) await new RunMover(db, used, 3).moveAll();
      const usedPages = await new RunMover(db, used, SIZE).moveAll();
      const newPages = await new RunMover(db, await db.connect(profile), SIZE).moveAll();
      for (const [name, pages] of Object.entries(newPages)) {
        const looked = usedPages[name] ?? 0;
        figures(`${profile}, ${name}`, { new: pages, used: looked });
        expect.soft(looked, name).toBeLessThan(2 * pages + SLACK);
      }
    },
    240_000,
  );
});
