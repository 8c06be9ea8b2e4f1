/**
 * The life of tasks: any steps in any order, by owners and by those who have lost their claim, against the real statements;
 * after each of them every row is what the model says. POSTHASTE_MODEL_RUNS=20000 for a night;
 * POSTHASTE_MODEL_SEED=<what a failure has printed> to see it again.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { statement, type SqlText } from "../../src/store/sql.ts";
import { BEGIN, ROLLBACK } from "../../src/store/transaction.ts";
import { brokenLaws, type BrokenLaw } from "../support/broken-laws.ts";
import { useDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait-until.ts";
import { Lifecycle, THRESHOLD_MS } from "./lifecycle-steps.ts";
import { wishes } from "./lifecycle-wishes.ts";
import { storedRows } from "./stored-rows.ts";

const db = useDatabase();
const RUNS = Number(process.env["POSTHASTE_MODEL_RUNS"] ?? 150);
const SEED = process.env["POSTHASTE_MODEL_SEED"];
/** In so many, all of these have happened: a search that met none of them has shown nothing. */
const ENOUGH_RUNS = 100;
const MUST_HAPPEN = [
  "start: refused",
  "heartbeat as claimer: refused",
  "heartbeat as runner: refused",
  "succeed: COMPLETED",
  "succeed: refused",
  "fail: refused",
  "retry: PENDING",
  "retry: refused",
  "release: refused",
  "requeue: refused",
  "complete and claim: refused",
  "cancel: cancelled",
  "retryEnded: retried",
  "retryEnded: late",
  "retryEnded: unfinished",
  "cancel: requested",
  "recover, run stale: applied",
  "recover, run stale: refused",
  "recover, claim stale: applied",
  "recover, worker silent: applied",
  "recover, shutdown: refused",
  "recovered: skip, RUNNING",
  "recovered: requeue, PENDING",
];
/** Below the threshold: in a run that takes longer, a new heartbeat would be old. */
const LONGEST_RUN_MS = 4_000;

describe("lifecycle model", () => {
  test("predicts every row after any sequence of steps", { timeout: 3_600_000 }, async () => {
    await waitUntil("a server that has been up for the threshold", isUp);
    const connection = await db.connect();
    const laws = (text: string): Promise<BrokenLaw[]> =>
      connection.query<BrokenLaw>(statement(text as SqlText));
    const happened = new Map<string, number>();
    const note = (what: string): void => void happened.set(what, (happened.get(what) ?? 0) + 1);

    // Never committed: the next run finds nothing, and no disk is waited for.
    const property = fc.asyncProperty(wishes, async (wanted) => {
      const startedAt = performance.now();
      await connection.query(BEGIN);
      try {
        const lifecycle = new Lifecycle(db.store, connection, note);
        await lifecycle.begin();
        for (const each of wanted) {
          await lifecycle.take(each);
          const stored = await storedRows(connection, lifecycle.model.now);
          fc.pre(performance.now() - startedAt < LONGEST_RUN_MS);
          expect(stored).toEqual(lifecycle.model.rows);
        }
        expect(await brokenLaws(laws)).toEqual([]);
      } finally {
        await connection.query(ROLLBACK);
      }
    });
    await fc.assert(property, {
      numRuns: RUNS,
      ...(SEED === undefined ? {} : { seed: Number(SEED) }),
    });
    if (RUNS >= ENOUGH_RUNS) expect(MUST_HAPPEN.filter((what) => !happened.has(what))).toEqual([]);
  });
});

async function isUp(): Promise<boolean> {
  const [row] = await db.sql<{ isUp: boolean }>(
    `select pg_postmaster_start_time() < now() - $1 * interval '1 ms' as "isUp"`,
    [THRESHOLD_MS],
  );
  return row?.isUp ?? false;
}
