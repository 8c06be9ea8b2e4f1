/**
 * The benchmark compares two builds by these samples, with their sizes, and these figures, with their bars. Eleven repetitions
 * of all samples take at most 25 minutes on two cores.
 */
import type { PhaseOptions } from "../phases.ts";
import { perRepetition, type Result, type Side } from "../results.ts";

export interface BuildSample {
  readonly name: string;
  readonly phase: string;
  readonly config: "default" | "tuned" | "capped";
  readonly options: PhaseOptions;
}

export interface BuildFigure {
  /** As it is called in the table and on the command line. */
  readonly name: string;
  /** Names of samples. The metric of several is added up: a task's life is its send and its drain. */
  readonly samples: readonly string[];
  readonly metric: string;
  /** Which direction is better. The ratio is new / old where "more" is, else old / new: above 1 the new build is better. */
  readonly better: "more" | "less";
  /** The median of the ratios must be at least this. Absent: the figure is reported, not judged. */
  readonly least?: number;
}

function sample(
  name: string,
  phase: string,
  options: PhaseOptions,
  config: BuildSample["config"] = "default",
): BuildSample {
  return { name, phase, config, options };
}

const sends16 = "sends, 16 callers";
const drain100 = "drain, concurrency 100";
const drain100Tuned = "drain, concurrency 100, tuned";

export const buildSamples: readonly BuildSample[] = [
  sample("sends, 1 caller", "sends", { callers: 1, seconds: 2 }),
  sample(sends16, "sends", { callers: 16, seconds: 2 }),
  sample("bulk of 50,000", "bulk", { count: 50_000 }),
  sample("drain, concurrency 1", "drain", { concurrency: 1, count: 2_000, warmUp: 500 }),
  sample("drain, concurrency 10", "drain", { concurrency: 10, count: 12_000, warmUp: 3_000 }),
  sample(drain100, "drain", { concurrency: 100, count: 25_000, warmUp: 5_000 }),
  sample(drain100Tuned, "drain", { concurrency: 100, count: 45_000, warmUp: 10_000 }, "tuned"),
  sample("drain of 20 ms tasks", "drain", {
    concurrency: 100,
    taskMs: 20,
    count: 8_000,
    warmUp: 2_000,
  }),
  sample(
    "drain of a queue capped at 100",
    "drain",
    { concurrency: 100, count: 20_000, warmUp: 5_000 },
    "capped",
  ),
  sample("drain of 2,000 from a cold start", "drain", {
    concurrency: 100,
    count: 2_000,
    warmUp: 0,
  }),
  sample("round trips, 1 caller", "crewRoundTrips", { callers: 1, seconds: 2 }),
  sample("round trips, 16 callers", "crewRoundTrips", { callers: 16, seconds: 2 }),
  sample("send to start, one process", "latency", { seconds: 3, perSecond: 50 }),
  sample("send to start, two processes", "crewLatency", { seconds: 3, perSecond: 50 }),
  sample("workflows: hop of a chain", "flows", { flow: "chain", count: 600, singles: 20 }),
  sample("workflows: fan-out of 10,000", "flows", { flow: "fan", count: 1 }),
];

const LEAST = 0.95;
/** The log may grow by this factor. */
const MOST_WAL = 1.15;

const rate = { better: "more", least: LEAST } as const;
const time = { better: "less", least: LEAST } as const;
const reported = { better: "less" } as const;

/** A figure with the name of its only sample. */
function of(name: string, metric: string, bar: Pick<BuildFigure, "better" | "least">): BuildFigure {
  return { name, samples: [name], metric, ...bar };
}

export const buildFigures: readonly BuildFigure[] = [
  of("sends, 1 caller", "sends/s", rate),
  of(sends16, "sends/s", rate),
  of("bulk of 50,000", "sends/s", rate),
  of("drain, concurrency 1", "tasks/s", rate),
  of("drain, concurrency 10", "tasks/s", rate),
  of(drain100, "tasks/s", rate),
  of(drain100Tuned, "tasks/s", rate),
  of("drain of 20 ms tasks", "tasks/s", rate),
  of("drain of a queue capped at 100", "tasks/s", rate),
  of("drain of 2,000 from a cold start", "tasks/s", rate),
  of("round trips, 1 caller", "round trips/s", rate),
  of("round trips, 16 callers", "round trips/s", rate),
  of("send to start, one process", "start p50 ms", time),
  of("send to start, two processes", "start p50 ms", time),
  of("workflows: hop of a chain", "hop p50 ms", time),
  of("workflows: fan-out of 10,000", "10,000: ms/node", time),
  {
    name: "WAL of a task's life",
    samples: [sends16, drain100],
    metric: "WAL B",
    better: "less",
    least: 1 / MOST_WAL,
  },
  ...[
    sends16,
    "round trips, 1 caller",
    "drain, concurrency 1",
    "drain, concurrency 10",
    drain100,
    drain100Tuned,
  ].flatMap((name) => [
    { name: `CPU of Node, ${name}`, samples: [name], metric: "node µs", ...reported },
    { name: `CPU of PostgreSQL, ${name}`, samples: [name], metric: "server µs", ...reported },
    { name: `WAL, ${name}`, samples: [name], metric: "WAL B", ...reported },
    { name: `statements, ${name}`, samples: [name], metric: "statements", ...reported },
  ]),
];

/** Repetition to value. A repetition in which a sample failed is left out. */
export function valuesOf(
  results: readonly Result[],
  { samples, metric }: BuildFigure,
  side: Side,
): Map<number, number> {
  const [first = new Map<number, number>(), ...others] = samples.map((phase) =>
    perRepetition(results, { who: [`posthaste/${side}`], phase, metric }),
  );
  return new Map(
    [...first].flatMap(([repetition, value]) => {
      const sum = others.reduce((all, other) => all + (other.get(repetition) ?? Number.NaN), value);
      return Number.isNaN(sum) ? [] : [[repetition, sum] as const];
    }),
  );
}

export function ratiosOf(results: readonly Result[], figure: BuildFigure): number[] {
  const before = valuesOf(results, figure, "old");
  return [...valuesOf(results, figure, "new")].flatMap(([repetition, now]) => {
    const then = before.get(repetition);
    if (then === undefined || then === 0 || now === 0) return [];
    return [figure.better === "more" ? now / then : then / now];
  });
}
