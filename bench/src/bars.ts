/** What must hold, each as a ratio within a repetition, or as a figure of our own. */
import { median, perRepetition, ratios, type Result, type Wanted } from "./results.ts";

export interface Bar {
  readonly name: string;
  readonly values: (results: readonly Result[]) => number[];
  readonly least?: number;
  readonly most?: number;
  /** A second bar, which also counts as holding. */
  readonly orNear?: {
    readonly what: string;
    readonly values: (results: readonly Result[]) => number[];
    readonly most: number;
  };
}

const ours = ["posthaste/default", "posthaste/tuned"];
const drain100 = "drain, concurrency 100";
const sends16 = "sends, 16 callers";

function drain(who: readonly string[], phase = drain100): Wanted {
  return { who, phase, metric: "tasks/s" };
}

function against(
  name: string,
  peer: readonly string[],
  what: Omit<Wanted, "who">,
  bound: { least?: number; most?: number },
): Bar {
  return {
    name,
    values: (results) => ratios(results, { ...what, who: ours }, { ...what, who: peer }),
    ...bound,
  };
}

/** WAL of a task from its send to its end. */
function wholeLifeWal(
  results: readonly Result[],
  sender: readonly string[],
  worker: readonly string[],
): Map<number, number> {
  const sent = perRepetition(results, {
    who: sender,
    phase: sends16,
    metric: "WAL B",
    isMoreBetter: false,
  });
  const drained = perRepetition(results, {
    who: worker,
    phase: drain100,
    metric: "WAL B",
    isMoreBetter: false,
  });
  return new Map(
    [...sent].map(([repetition, bytes]) => [
      repetition,
      bytes + (drained.get(repetition) ?? Number.NaN),
    ]),
  );
}

function wal(name: string, peer: { sender: string; worker: string }, most: number): Bar {
  return {
    name,
    most,
    values: (results) => {
      const mine = wholeLifeWal(results, ["posthaste/default"], ["posthaste/default"]);
      const theirs = wholeLifeWal(results, [peer.sender], [peer.worker]);
      return [...mine].flatMap(([repetition, bytes]) => {
        const other = theirs.get(repetition);
        return other === undefined ? [] : [bytes / other];
      });
    },
  };
}

/** The figure of the contender that drained fastest in that repetition. */
function costOfDrain(metric: string): (results: readonly Result[]) => number[] {
  return (results) => {
    const fastest = new Map<number, { who: string; rate: number }>();
    for (const who of ours) {
      for (const [repetition, rate] of perRepetition(results, drain([who]))) {
        if (rate > (fastest.get(repetition)?.rate ?? 0)) fastest.set(repetition, { who, rate });
      }
    }
    return [...fastest].flatMap(([repetition, { who }]) => {
      const value = perRepetition(results, { who: [who], phase: drain100, metric }).get(repetition);
      return value === undefined ? [] : [value];
    });
  };
}

const trips = { phase: "round trips, 16 callers, two processes", metric: "round trips/s" };
const sends = { phase: sends16, metric: "sends/s" };
const bulk = { phase: "bulk of 100,000", metric: "sends/s" };
const graphile = ["graphile-worker/tuned", "graphile-worker/default"];
const pgBoss = ["pg-boss/tuned", "pg-boss/quiet", "pg-boss/default"];
const bullmq = ["bullmq-redis/default"];

export const bars: readonly Bar[] = [
  against("drain, concurrency 100, × graphile-worker", graphile, drain(ours), { least: 1.3 }),
  against("drain, concurrency 100, × pg-boss", pgBoss, drain(ours), { least: 4 }),
  against("drain, concurrency 100, × BullMQ on Redis", bullmq, drain(ours), { least: 3.5 }),
  against("sends, 16 callers, × graphile-worker", graphile, sends, { least: 10 }),
  against("sends, 16 callers, × pg-boss", pgBoss, sends, { least: 6 }),
  against("bulk of 100,000, × the best on PostgreSQL", [...graphile, ...pgBoss], bulk, {
    least: 1.4,
  }),
  against("round trips, 16 callers, × graphile-worker", graphile, trips, { least: 2 }),
  wal("WAL of a task's life, × pg-boss", { sender: "pg-boss/quiet", worker: "pg-boss/tuned" }, 0.5),
  wal(
    "WAL of a task's life, × graphile-worker",
    { sender: "graphile-worker/default", worker: "graphile-worker/tuned" },
    0.88,
  ),
  {
    name: "statements/s of an idle worker",
    most: 1,
    values: (results) => [
      ...perRepetition(results, {
        who: ours,
        phase: "idle",
        metric: "statements/s",
        isMoreBetter: false,
      }).values(),
    ],
  },
  { name: "Node µs a task, concurrency 100", most: 30, values: costOfDrain("node µs") },
  { name: "PostgreSQL µs a task, concurrency 100", most: 35, values: costOfDrain("server µs") },
];

export interface Verdict {
  readonly name: string;
  readonly value: number;
  readonly range: readonly [number, number];
  readonly bound: string;
  readonly holds: boolean;
  /** The second bar: its figure, and whether it holds. */
  readonly near?: string;
}

/** The median counts; a bar without a figure is missed. */
export function judge(results: readonly Result[], all: readonly Bar[]): Verdict[] {
  return all.map(({ name, values, least, most, orNear }) => {
    const found = values(results);
    const value = median(found);
    const holdsItself =
      found.length > 0 &&
      (least === undefined || value >= least) &&
      (most === undefined || value <= most);
    const near = orNear && median(orNear.values(results));
    const isNear = orNear !== undefined && near !== undefined && near <= orNear.most;
    const holds = holdsItself || (found.length > 0 && isNear);
    const nearText =
      orNear === undefined || near === undefined || Number.isNaN(near)
        ? {}
        : {
            near: `${round(near)} × ${orNear.what}, at most ${orNear.most}${holdsItself || !isNear ? "" : ": this one holds"}`,
          };
    return {
      ...nearText,
      name,
      value,
      range: [Math.min(...found), Math.max(...found)],
      bound: least === undefined ? `at most ${round(most ?? 0)}` : `at least ${round(least)}`,
      holds,
    };
  });
}

export function round(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);
}
