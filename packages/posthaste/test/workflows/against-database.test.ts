/** The oracle was written from docs/guides/workflows.md alone. These tests compare the database with it. */
import { expect, test, vi } from "vitest";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { DatabaseEngine } from "./database-engine.ts";
import { driveHistories, driveToEnd } from "./drive.ts";
import { Random } from "./random.ts";
import { randomCase } from "./random-graphs.ts";
import { randomHistory } from "./random-histories.ts";

const db = useDatabase();
useCleanTables(db);

/** `POSTHASTE_WORKFLOW_RUNS=10000` for all of them; `POSTHASTE_WORKFLOW_SEED` is the first. */
const runs = Number(process.env["POSTHASTE_WORKFLOW_RUNS"] ?? 30);
// The tests take a tenth of that on an idle machine.
vi.setConfig({ testTimeout: 240_000 + runs * 500 });
const first = Number(process.env["POSTHASTE_WORKFLOW_SEED"] ?? 0);
const BATCH = 100;
const isShown = process.env["POSTHASTE_SHOW"] !== undefined;

function batches(): number[][] {
  const seeds = Array.from({ length: runs }, (_, n) => first + n);
  return Array.from({ length: Math.ceil(runs / BATCH) }, (_, n) =>
    seeds.slice(n * BATCH, (n + 1) * BATCH),
  );
}

const sql: typeof db.sql = (text, values) => db.sql(text, values);

test("random graphs with random outcomes end as the oracle says", async () => {
  for (const seeds of batches()) {
    const found = await driveToEnd(
      new DatabaseEngine(sql),
      seeds.map(randomCase),
      new Random(seeds[0] ?? 0),
    );
    expect(found.slice(0, 10)).toEqual([]);
  }
  if (isShown) console.log(`compared ${runs} of ${runs}`);
});

test("runs are as the oracle says after every event of a random history, with pauses, cancellations and retries", async () => {
  for (const seeds of batches()) {
    const found = await driveHistories(new DatabaseEngine(sql), seeds.map(randomHistory));
    expect(found.slice(0, 10)).toEqual([]);
  }
  if (isShown) console.log(`compared ${runs} of ${runs}`);
});
