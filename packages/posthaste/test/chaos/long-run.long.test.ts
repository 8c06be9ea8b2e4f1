/** Chaos runs that go on until everything that must happen sometimes has happened. `npm run chaos` runs longer ones, with any seed. */
import { expect, test } from "vitest";
import { runChaos } from "../../../../chaos/run-chaos.ts";
import { figures } from "../support/figures.ts";

test.each([
  ["plain tasks", 505, false],
  ["plain tasks and workflows", 506, true],
])(
  "%s: no law is broken, and everything that must happen sometimes does",
  async (_, seed, workflows) => {
    const report = await runChaos({
      seed,
      durationMs: 60_000,
      mostMoreMs: 8 * 60_000,
      workers: 4,
      workflows,
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
