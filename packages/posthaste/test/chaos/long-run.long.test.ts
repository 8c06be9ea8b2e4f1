/** Chaos runs of a minute and more. `npm run chaos` runs longer ones with any seed, until it has seen everything there is to see. */
import { expect, test } from "vitest";
import { runChaos } from "../../../../chaos/run-chaos.ts";
import { figures } from "../support/figures.ts";
import { plainMustSee, workflowsMustSee } from "./must-see.ts";

test.each([
  ["plain tasks", 505, {}, []],
  ["plain tasks and workflows", 506, { workflows: true }, workflowsMustSee],
])(
  "%s: no law is broken, and what must be seen is seen",
  async (_, seed, beside, mustSee) => {
    const report = await runChaos({
      seed,
      durationMs: 60_000,
      mostMoreMs: 8 * 60_000,
      mustSee: [...plainMustSee, ...mustSee],
      workers: 4,
      ...beside,
      gapMs: [300, 1_200],
      say: () => undefined,
    });
    figures(`seed ${seed}`, { tasks: report.tasks, runs: report.runs, ...report.faults });
    expect(report.violations, `everything is kept in ${report.folder}`).toEqual([]);
    expect(report.quietAfterMs).toBeTypeOf("number");
    expect(report.missing).toEqual([]);
  },
  20 * 60_000,
);
