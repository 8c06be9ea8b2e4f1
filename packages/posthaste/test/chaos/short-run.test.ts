/** A short chaos run with a fixed seed, chosen so that the faults that matter most come first. */
import { expect, test } from "vitest";
import { runChaos } from "../../../../chaos/run-chaos.ts";
import { figures } from "../support/figures.ts";
import { plainMustSee, workflowsMustSee } from "./must-see.ts";

const SEED = 7;

test(
  "workers that are killed, frozen and cut off, on a server that restarts, break no law, nor do workflows beside",
  async () => {
    const report = await runChaos({
      seed: SEED,
      durationMs: 6_000,
      mostMoreMs: 5 * 60_000,
      mustSee: [...plainMustSee, ...workflowsMustSee],
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
