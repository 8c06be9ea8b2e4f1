/** A short chaos run with a fixed seed, chosen so that the faults that matter most come first. */
import { expect, test } from "vitest";
import { runChaos } from "../../../../chaos/run-chaos.ts";
import { figures } from "../support/figures.ts";

const SEED = 7;

/** What so short a run must see; `npm run chaos` demands more. It goes on until it has, and ends when it has. */
const mustSee = [
  "a task completed",
  "a task completed by its third attempt or later",
  "a task claimed ahead and started",
  "a task sent by another task",
  "a payment in the transaction of its completion",
  "a worker killed",
  "the server restarted without a goodbye",
  /taken from a worker/,
  "a run completed",
  "a run failed",
  "a run cancelled",
  "a nested run completed",
  "a node skipped",
  "a task taken back because its run was paused",
  "a node started over",
  "a node started by the transaction that ended the one before it",
  "a fan-out during a fault",
];

test(
  "workers that are killed, frozen and cut off, on a server that restarts, break no law, nor do workflows beside",
  async () => {
    const report = await runChaos({
      seed: SEED,
      durationMs: 6_000,
      mostMoreMs: 5 * 60_000,
      mustSee,
      workers: 3,
      workflows: true,
      gapMs: [200, 700],
      say: () => undefined,
    });
    figures("a short run", { tasks: report.tasks, runs: report.runs, ...report.faults });
    expect(report.violations, `everything is kept in ${report.folder}`).toEqual([]);
    expect(report.quietAfterMs).toBeTypeOf("number");
    expect(report.missing).toEqual([]);
  },
  15 * 60_000,
);
