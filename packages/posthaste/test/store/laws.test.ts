/** The laws that are checked after every test can be broken: each is broken here, and found. */
import { describe, expect, test } from "vitest";
import { brokenLaws } from "../support/broken-laws.ts";
import { useDatabase } from "../support/database.ts";
import { addOneActive, addOneReady, type ActiveSeed } from "./task-rows.ts";

const db = useDatabase();

const seeds = {
  fresh: () => addOneReady(db),
  delayed: () => addOneReady(db, { dueMs: 60_000 }),
  "came back": () => addOneReady(db, { runs: 1, retryCount: 1, dueMs: 60_000 }),
  claimed: () => active({ status: "CLAIMED" }),
  running: () => active({ runs: 1 }),
  completed: () => completed({}),
  "completed in time": () => completed({ goodMs: 60_000 }),
};

async function active(seed: ActiveSeed): Promise<string> {
  return (await addOneActive(db, seed)).id;
}

async function completed(seed: ActiveSeed): Promise<string> {
  const claim = await addOneActive(db, seed);
  await db.store.settleTasks(await db.connect(), [{ ...claim, edge: "succeed", ran: true }]);
  return claim.id;
}

const misplaced = "a ready row that was never claimed does not stand where its submission says";
const miscounted = "attempt_no is not the number of handlers that began";
const gaps = "attempts are not 1…n without gaps";
const notInLine = "not in the line that it was sent to";
const notAsSent = "not under the cap or the deadline that it was sent with";
const noDueTime = "came back into the line, and yet no due time of its own";

describe("broken laws", () => {
  test.each([
    ["fresh", "delete from ready_tasks", ["not in exactly one state table"]],
    ["fresh", "delete from submissions", ["state without a submission"]],
    ["fresh", "update ready_tasks set enqueued_at = now()", [misplaced]],
    ["delayed", "update submissions set run_at = null", [misplaced]],
    ["fresh", "update ready_tasks set queue = 'elsewhere'", [misplaced, notInLine]],
    ["fresh", "update ready_tasks set priority = 1", [misplaced, notInLine]],
    ["came back", "update ready_tasks set priority = 1", [notInLine]],
    ["running", "update active_tasks set good_until = now()", [notAsSent]],
    ["running", "update active_tasks set capped_queue = 'elsewhere'", [notAsSent]],
    ["running", "update active_tasks set enqueued_at = null", [noDueTime]],
    [
      "came back",
      "update ready_tasks set attempt_no = null",
      [misplaced, miscounted, "never claimed, and yet a retry or a crash"],
    ],
    [
      "delayed",
      "update submissions set sent_at = run_at + interval '1 s'",
      ["a first due time that is not later than the sending"],
    ],
    ["came back", "update ready_tasks set attempt_no = 2", [miscounted]],
    ["claimed", "update active_tasks set attempt_no = 1", [miscounted, noDueTime]],
    ["running", "update attempts set attempt_no = 3", [gaps]],
    ["completed", "update finished_tasks set attempt_no = 2", [miscounted, gaps]],
    ["running", "update active_tasks set retry_count = -1", ["a counter below zero"]],
    [
      "running",
      "update active_tasks set claim_expires_at = now()",
      ["a lease on a started task, or none on one that was only claimed"],
    ],
    [
      "claimed",
      "update active_tasks set claimed_at = now() - interval '1 h'",
      ["claimed before its time"],
    ],
    [
      "running",
      "update active_tasks set claimed_at = now()",
      ["started before it was claimed, or finished before that"],
    ],
    [
      "completed",
      "update finished_tasks set worker_id = null",
      ["a claim without a worker, or a worker without a claim"],
    ],
    [
      "completed in time",
      "update submissions set good_until = sent_at",
      ["started after its deadline"],
    ],
  ] as const)("are found for a task that is %s after: %s", async (seed, breaking, laws) => {
    await seeds[seed]();
    await db.sql("begin");
    try {
      await db.sql(`set local search_path = posthaste; ${breaking}`);

      const broken = await brokenLaws((text) => db.sql(text));

      expect([...new Set(broken.map(({ law }) => law))].sort()).toEqual([...laws].sort());
    } finally {
      await db.sql("rollback");
      await db.sql(
        "truncate posthaste.submissions, posthaste.ready_tasks, posthaste.active_tasks, posthaste.finished_tasks, posthaste.attempts",
      );
    }
  });
});
