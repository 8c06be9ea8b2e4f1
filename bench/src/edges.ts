/**
 * The edges: what most programs run. A process that sends and a worker in another process, few slots, one caller who waits, the
 * default settings. `--only edges` takes these and their bars.
 */
import type { Bar } from "./bars.ts";
import type { Measurement } from "./plan.ts";
import { perRepetition, ratios, type Result, type Wanted } from "./results.ts";

const ours = "posthaste/default";
const tuned = "posthaste/tuned";
const graphile = "graphile-worker/tuned";
const bullmq = "bullmq-redis/default";
const pgBoss = "pg-boss/tuned";
const raw = "raw-sql/default";

const start = "send to start at 20/s, two processes";
const startOfFour = "send to start at 20/s, four workers listen";
const trips1 = "round trips, 1 caller, two processes";
const trips16 = "round trips, 16 callers, two processes";
const sends16 = "sends, 16 callers";
const chunks = "sendMany of 1,000, two under way";
const drain10 = "drain, concurrency 10";
const drain100 = "drain, concurrency 100";
const drain100Short = "drain of 20,000, concurrency 100";
const crewDrain = "drain, two processes";
const cold = "drain of 20,000 from a cold start";
const coldShort = "drain of 2,000 from a cold start";
const slow = "drain of 20 ms tasks";
const chain = "workflows: a chain of 500, two processes";

function edge(
  name: string,
  phase: string,
  options: Measurement["options"],
  contenders: readonly string[],
): Measurement {
  return { name, phase, options, contenders, isNeeded: true, isEdge: true };
}

/** A second or more on a fast machine: 20,000 tasks last 0.3 s there, and peers slow down as a drain goes on. */
const lasting = { count: 100_000, warmUp: 20_000 };

export const edgeMeasurements: readonly Measurement[] = [
  {
    ...edge(start, "crewLatency", { seconds: 5 }, [ours, graphile, pgBoss, bullmq, raw]),
    isQuick: true,
  },
  edge(startOfFour, "crewLatency", { seconds: 5, processes: 4 }, [ours, graphile, bullmq, raw]),
  edge(trips1, "crewRoundTrips", { callers: 1 }, [ours, pgBoss, graphile, bullmq, raw]),
  {
    ...edge(trips16, "crewRoundTrips", { callers: 16 }, [ours, pgBoss, graphile, bullmq, raw]),
    isQuick: true,
  },
  {
    ...edge(sends16, "sends", { callers: 16 }, [
      ours,
      "pg-boss/quiet",
      "graphile-worker/default",
      bullmq,
      raw,
    ]),
    isQuick: true,
  },
  edge(chunks, "chunks", { callers: 2 }, [ours, "graphile-worker/default", "pg-boss/quiet"]),
  edge(drain10, "drain", { concurrency: 10 }, [ours, tuned, graphile, bullmq, raw]),
  edge(drain100, "drain", { concurrency: 100, ...lasting }, [
    ours,
    tuned,
    pgBoss,
    graphile,
    bullmq,
  ]),
  {
    ...edge(drain100Short, "drain", { concurrency: 100 }, [ours, tuned, pgBoss, graphile, bullmq]),
    isQuick: true,
  },
  edge(crewDrain, "crewDrain", { processes: 2, concurrency: 100 }, [ours, tuned, graphile]),
  edge(cold, "drain", { concurrency: 100, count: 20_000, warmUp: 0 }, [ours, tuned, graphile]),
  edge(coldShort, "drain", { concurrency: 100, count: 2_000, warmUp: 0 }, [ours, tuned, graphile]),
  edge(slow, "drain", { concurrency: 100, taskMs: 20, count: 10_000, warmUp: 2_000 }, [
    ours,
    tuned,
    graphile,
  ]),
  edge(chain, "crewChain", { count: 500 }, [ours]),
];

/** As many times a peer's figure, or within so many times the floor: whichever holds. */
interface EdgeBar {
  readonly name: string;
  readonly phase: string;
  readonly metric: string;
  /** One of ours, or the best of several. */
  readonly who?: readonly string[];
  readonly peer: string;
  readonly least?: number;
  readonly most?: number;
}

/** Redis does not wait for a disk: against it, this near to the same steps in plain SQL is enough. */
const NEAR_FLOOR = 1.5;

const edgeBarList: readonly EdgeBar[] = [
  { name: "send to start", phase: start, metric: "start p50 ms", peer: graphile, most: 0.8 },
  { name: "send to start", phase: start, metric: "start p50 ms", peer: bullmq, most: 1.15 },
  {
    name: "round trips, 1 caller",
    phase: trips1,
    metric: "round trips/s",
    peer: pgBoss,
    least: 1.5,
  },
  {
    name: "round trips, 1 caller",
    phase: trips1,
    metric: "round trips/s",
    peer: bullmq,
    least: 0.5,
  },
  {
    name: "round trips, 16 callers",
    phase: trips16,
    metric: "round trips/s",
    peer: bullmq,
    least: 2,
  },
  { name: "sends, 16 callers", phase: sends16, metric: "sends/s", peer: bullmq, least: 0.9 },
  { name: chunks, phase: chunks, metric: "sends/s", peer: "graphile-worker/default", least: 1.2 },
  {
    name: "drain, defaults, concurrency 10",
    phase: drain10,
    metric: "tasks/s",
    peer: graphile,
    least: 0.5,
  },
  {
    name: "drain, defaults, concurrency 10",
    phase: drain10,
    metric: "tasks/s",
    peer: bullmq,
    least: 1.6,
  },
  {
    name: "drain, defaults, concurrency 100",
    phase: drain100,
    metric: "tasks/s",
    peer: graphile,
    least: 1,
  },
  {
    name: "drain, defaults, concurrency 100",
    phase: drain100,
    metric: "tasks/s",
    peer: pgBoss,
    least: 3,
  },
  {
    name: "drain, startAhead, concurrency 10",
    phase: drain10,
    metric: "tasks/s",
    who: [tuned],
    peer: graphile,
    least: 1.3,
  },
  {
    name: "drain, startAhead, concurrency 100",
    phase: drain100,
    metric: "tasks/s",
    who: [tuned],
    peer: graphile,
    least: 1.5,
  },
  {
    name: "drain, startAhead, two processes",
    phase: crewDrain,
    metric: "tasks/s",
    who: [tuned],
    peer: graphile,
    least: 1.3,
  },
  {
    name: coldShort,
    phase: coldShort,
    metric: "tasks/s",
    who: [ours, tuned],
    peer: graphile,
    least: 1,
  },
  {
    name: "drain of 20 ms tasks",
    phase: slow,
    metric: "tasks/s",
    who: [ours, tuned],
    peer: graphile,
    least: 1,
  },
];

const peerNames: Readonly<Record<string, string>> = {
  [graphile]: "graphile-worker",
  "graphile-worker/default": "graphile-worker",
  [bullmq]: "BullMQ",
  [pgBoss]: "pg-boss",
};

function barOf({ name, phase, metric, who = [ours], peer, least, most }: EdgeBar): Bar {
  const isMoreBetter = least !== undefined;
  const of = (contenders: readonly string[]): Wanted => ({
    who: contenders,
    phase,
    metric,
    isMoreBetter,
  });
  return {
    name: `${name}, × ${peerNames[peer] ?? peer}`,
    values: (results) => ratios(results, of(who), of([peer])),
    ...(least === undefined ? { most: most ?? 0 } : { least }),
    ...(peer === bullmq && {
      orNear: {
        what: "plain SQL",
        values: (results: readonly Result[]) =>
          isMoreBetter ? ratios(results, of([raw]), of(who)) : ratios(results, of(who), of([raw])),
        most: NEAR_FLOOR,
      },
    }),
  };
}

export const edgeBars: readonly Bar[] = [
  ...edgeBarList.map(barOf),
  {
    name: "hop of a chain × send to start, two processes",
    most: 1.2,
    values: (results) => [
      ...perRepetition(results, {
        who: [ours],
        phase: chain,
        metric: "hop × send to start",
        isMoreBetter: false,
      }).values(),
    ],
  },
];
