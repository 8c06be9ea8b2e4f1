/** A short chaos run with a fixed seed, chosen so that the faults that matter most come first. */
import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { runChaos } from "../../../../chaos/run-chaos.ts";
import { figures } from "../support/figures.ts";

const SEED = 2_096;

/** What a run as short as this one shows on any machine; `npm run chaos` demands more. */
const reached = [
  "a task completed",
  "a task completed by its third attempt or later",
  "a task claimed ahead and started",
  "a task sent by another task",
  "a payment in the transaction of its completion",
  "a worker killed",
  "the server restarted without a goodbye",
  "a run completed",
  "a run failed",
  "a run cancelled",
  "a nested run completed",
  "a node skipped",
  "a task taken back because its run was paused",
  "a node started over",
  "a fan-out during a fault",
];

test("workers that are killed, frozen and cut off, on a server that restarts, break no law, nor do workflows beside", async () => {
  const report = await runChaos({
    seed: SEED,
    durationMs: 14_000,
    workers: 3,
    workflows: true,
    gapMs: [200, 700],
    say: () => undefined,
  });
  figures("a short run", { tasks: report.tasks, runs: report.runs, ...report.faults });
  expect(report.violations, `everything is kept in ${report.folder}`).toEqual([]);
  rmSync(report.folder, { recursive: true, force: true }); // kept, because so short a run is inconclusive
  expect(report.quietAfterMs).toBeTypeOf("number");
  const happened = report.sometimes.filter(({ times }) => times > 0).map(({ what }) => what);
  expect(happened).toEqual(expect.arrayContaining(reached));
  // Which of them, is a matter of milliseconds.
  expect(happened.some((what) => what.includes("taken from a worker"))).toBe(true);
}, 150_000);
