/** One run: a stage, workers, producers and a nemesis; then quiet, and the verdict. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { checkLaws } from "./checker/check-laws.ts";
import type { Violation } from "./checker/law.ts";
import { Crew } from "./crew.ts";
import { linesAround } from "./evidence.ts";
import { loadLedgers } from "./ledger.ts";
import { Nemesis } from "./nemesis.ts";
import { Producers } from "./producers.ts";
import { quiesce } from "./quiesce.ts";
import { seededRandom } from "./random.ts";
import { countSometimes, type Sometimes } from "./sometimes.ts";
import { openStage, type Stage } from "./stage.ts";

export interface ChaosOptions {
  readonly seed: number;
  readonly durationMs: number;
  readonly workers: number;
  /** Between the begin of one fault and the next. */
  readonly gapMs: readonly [least: number, most: number];
  readonly say: (line: string) => void;
}

export interface ChaosReport {
  readonly outcome: "ok" | "violated" | "inconclusive";
  readonly violations: readonly Violation[];
  readonly sometimes: readonly Sometimes[];
  readonly faults: Readonly<Record<string, number>>;
  readonly tasks: number;
  /** Undefined: something was still under way when the time for that was over. */
  readonly quietAfterMs: number | undefined;
  /** Where everything is; gone if the outcome is "ok". */
  readonly folder: string;
}

/** A fault that meets nobody at work shows nothing. */
const WARM_UP_MS = 2_000;

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const stage = await openStage();
  options.say(`folder ${stage.folder}`);
  let isKept = true;
  try {
    const report = await runOn(stage, options);
    isKept = report.outcome !== "ok";
    writeFileSync(join(stage.folder, "report.json"), JSON.stringify(report, undefined, 2));
    return report;
  } finally {
    await stage.close({ keep: isKept });
  }
}

async function runOn(stage: Stage, options: ChaosOptions): Promise<ChaosReport> {
  const { seed, workers, durationMs, gapMs, say } = options;
  const random = seededRandom(seed);
  const at = { serverUrl: stage.server.url, folder: stage.folder };
  const crew = await Crew.start(workers, at);
  try {
    const producers = await Producers.start({ ...at, seed, count: workers });
    try {
      await sleep(WARM_UP_MS);
      const nemesis = new Nemesis({ stage, crew, producers, random, gapMs });
      say(`${workers} workers, faults for ${Math.round(durationMs / 1_000)} s`);
      await sleep(durationMs);
      const quietAfterMs = await quiesce({ stage, crew, nemesis, producers, say });
      say(
        quietAfterMs === undefined ? "no quiet" : `quiet ${quietAfterMs} ms after the last fault`,
      );
      return await judge(stage, { crew, nemesis, quietAfterMs });
    } finally {
      await producers.close();
    }
  } finally {
    await crew.end();
  }
}

async function judge(
  stage: Stage,
  {
    crew,
    nemesis,
    quietAfterMs,
  }: { crew: Crew; nemesis: Nemesis; quietAfterMs: number | undefined },
): Promise<ChaosReport> {
  const { folder } = stage;
  return stage.ask(async (client) => {
    await loadLedgers(client, folder);
    const violations = await checkLaws(client);
    if (violations.length > 0) {
      writeFileSync(join(folder, "evidence.txt"), await linesAround(client, folder, violations));
    }
    const sometimes = await countSometimes(client, { crew, nemesis, folder });
    const { rows } = await client.query<{ tasks: number }>(
      "select count(*)::int as tasks from posthaste.submissions",
    );
    return {
      outcome: outcomeOf(violations, sometimes, quietAfterMs),
      violations,
      sometimes,
      faults: nemesis.counts,
      tasks: rows[0]?.tasks ?? 0,
      quietAfterMs,
      folder,
    };
  });
}

function outcomeOf(
  violations: readonly Violation[],
  sometimes: readonly Sometimes[],
  quietAfterMs: number | undefined,
): ChaosReport["outcome"] {
  if (violations.length > 0 || quietAfterMs === undefined) return "violated";
  return sometimes.some(({ times }) => times === 0) ? "inconclusive" : "ok";
}
