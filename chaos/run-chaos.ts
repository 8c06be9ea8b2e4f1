/** One run: a stage, workers, producers and a nemesis; then quiet, and the verdict. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { checkLaws } from "./checker/check-laws.ts";
import type { Violation } from "./checker/law.ts";
import { repairedRuns, wrongResults } from "./checker/run-results.ts";
import { Crew } from "./crew.ts";
import { linesAround } from "./evidence.ts";
import { measureLatency, type Latency } from "./latency.ts";
import { closeJournal } from "./journal.ts";
import { loadLedgers } from "./ledger.ts";
import { Nemesis } from "./nemesis.ts";
import { countOperateSometimes } from "./operate-sometimes.ts";
import { Operators } from "./operators.ts";
import { Producers } from "./producers.ts";
import { quiesce } from "./quiesce.ts";
import { seededRandom } from "./random.ts";
import { missingOf, playRounds, waitingTasks, type MustSee } from "./rounds.ts";
import { countRunSometimes } from "./run-sometimes.ts";
import { Runs } from "./runs.ts";
import { findDeadlocks } from "./server-log.ts";
import { countSometimes, type Sometimes } from "./sometimes.ts";
import { openStage, type Stage } from "./stage.ts";

export interface ChaosOptions {
  readonly seed: number;
  /** For so long faults are inflicted at least. */
  readonly durationMs: number;
  /** For so long, in addition, while something that must be seen was not. */
  readonly mostMoreMs: number;
  readonly mustSee?: MustSee;
  readonly workers: number;
  /** Workflows run beside the plain tasks. Default: false. */
  readonly workflows?: boolean;
  /** Schedules fire, and operators steer them and the tasks. Default: false. */
  readonly operate?: boolean;
  /** Between the begin of one fault and the next. */
  readonly gapMs: readonly [least: number, most: number];
  readonly say: (line: string) => void;
}

export interface ChaosReport {
  readonly outcome: "ok" | "violated" | "inconclusive";
  readonly violations: readonly Violation[];
  readonly sometimes: readonly Sometimes[];
  /** Names of events that the run had to see and did not see. */
  readonly missing: readonly string[];
  readonly faults: Readonly<Record<string, number>>;
  readonly tasks: number;
  readonly runs: number;
  /** Of plain tasks, before the first fault; undefined: not measured. */
  readonly latency: { readonly alone: Latency; readonly besideWorkflows: Latency } | undefined;
  /** Undefined: something was still under way when the time for that was over. */
  readonly quietAfterMs: number | undefined;
  /** Where everything is; gone if the outcome is "ok". */
  readonly folder: string;
}

/** A fault that meets nobody at work shows nothing. */
const WARM_UP_MS = 2_000;
/** Before the faults, where latencies are compared: twice so long. */
const MOST_CALM_MS = 10_000;
const OPERATORS = 3;

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
  const { seed, workers, operate = false } = options;
  const at = { serverUrl: stage.server.url, folder: stage.folder };
  const crew = await Crew.start(workers, { ...at, operate });
  try {
    const producers = await Producers.start({ ...at, seed, count: workers });
    try {
      await sleep(WARM_UP_MS);
      return await (options.workflows === true
        ? besideWorkflows({ stage, crew, producers, options })
        : withOperators({ stage, crew, producers, options }));
    } finally {
      await producers.close();
    }
  } finally {
    await crew.end();
  }
}

interface Playing {
  readonly stage: Stage;
  readonly crew: Crew;
  readonly producers: Producers;
  readonly options: ChaosOptions;
  readonly runs?: Runs;
  readonly operators?: Operators;
  readonly latency?: ChaosReport["latency"];
}

async function besideWorkflows(playing: Playing): Promise<ChaosReport> {
  const { stage, producers, options } = playing;
  const calmMs = Math.min(MOST_CALM_MS, options.durationMs / 4);
  const alone = await measureLatency(stage, calmMs);
  const count = Math.ceil(options.workers / 2);
  const { url } = producers.wire;
  const waiting = (): Promise<number | undefined> => waitingTasks(stage);
  const runs = new Runs({ url, folder: stage.folder, seed: options.seed, count, waiting });
  try {
    await sleep(WARM_UP_MS);
    const latency = { alone, besideWorkflows: await measureLatency(stage, calmMs) };
    return await withOperators({ ...playing, runs, latency });
  } finally {
    await runs.close();
  }
}

async function withOperators(playing: Playing): Promise<ChaosReport> {
  const { stage, options } = playing;
  if (options.operate !== true) return inflictAndJudge(playing);
  const operators = new Operators({ stage, seed: options.seed, count: OPERATORS });
  try {
    return await inflictAndJudge({ ...playing, operators });
  } finally {
    await operators.close();
  }
}

async function inflictAndJudge(playing: Playing): Promise<ChaosReport> {
  const { stage, crew, producers, runs, operators, options } = playing;
  const { seed, workers, durationMs, mostMoreMs, mustSee, gapMs, say } = options;
  const { workflows = false, operate = false } = options;
  const random = seededRandom(seed);
  const nemesis = new Nemesis({ stage, crew, producers, random, gapMs, workflows, operate });
  say(`${workers} workers, faults for ${Math.round(durationMs / 1_000)} s at least`);
  const count = (): Promise<Sometimes[]> =>
    stage.ask(async (client) => {
      await closeJournal(client);
      return countAll(client, playing, nemesis);
    });
  const limits = { leastMs: durationMs, mostMoreMs, mustSee };
  const parts = { stage, nemesis, producers, runs, operators, say };
  await playRounds({ ...parts, count, ...limits });
  const quietAfterMs = await quiesce({ ...parts, crew });
  say(quietAfterMs === undefined ? "no quiet" : `quiet ${quietAfterMs} ms after the last fault`);
  return judge(playing, nemesis, quietAfterMs);
}

/** The journal must be closed. */
async function countAll(
  client: pg.Client,
  { stage: { folder }, crew, options }: Playing,
  nemesis: Nemesis,
): Promise<Sometimes[]> {
  return [
    ...(await countSometimes(client, { crew, nemesis, folder })),
    ...(options.workflows === true ? await countRunSometimes(client, { crew, folder }) : []),
    ...(options.operate === true
      ? await countOperateSometimes(client, { crew, nemesis, folder })
      : []),
  ];
}

async function judge(
  playing: Playing,
  nemesis: Nemesis,
  quietAfterMs: number | undefined,
): Promise<ChaosReport> {
  const { stage, crew, options, latency } = playing;
  const { folder } = stage;
  return stage.ask(async (client) => {
    await loadLedgers(client, folder);
    const violations = [
      ...(await checkLaws(client)),
      ...(await wrongResults(client)),
      ...repairedRuns(crew.log),
      ...findDeadlocks(stage),
    ];
    if (violations.length > 0) {
      writeFileSync(join(folder, "evidence.txt"), await linesAround(client, folder, violations));
    }
    const sometimes = await countAll(client, playing, nemesis);
    const missing = missingOf(sometimes, options.mustSee);
    const { rows } = await client.query<{ tasks: number; runs: number }>(
      `select (select count(*)::int from posthaste.submissions) as tasks,
              (select count(*)::int from posthaste.workflows) as runs`,
    );
    return {
      outcome: outcomeOf(violations, missing, quietAfterMs),
      violations,
      sometimes,
      missing,
      faults: nemesis.counts,
      tasks: rows[0]?.tasks ?? 0,
      runs: rows[0]?.runs ?? 0,
      latency,
      quietAfterMs,
      folder,
    };
  });
}

function outcomeOf(
  violations: readonly Violation[],
  missing: readonly string[],
  quietAfterMs: number | undefined,
): ChaosReport["outcome"] {
  if (violations.length > 0 || quietAfterMs === undefined) return "violated";
  return missing.length > 0 ? "inconclusive" : "ok";
}
