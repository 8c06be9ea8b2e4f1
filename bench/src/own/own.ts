/** What is measured of ours alone: how it holds up with a past, a future, an old snapshot, company, and large payloads. */
import type { Bar } from "../bars.ts";
import { perRepetition, ratios, type Result } from "../results.ts";

export interface OwnMeasurement {
  readonly name: string;
  readonly kind:
    | "past"
    | "future"
    | "snapshot"
    | "readers"
    | "processes"
    | "caps"
    | "queues"
    | "payloads";
  readonly isNeeded?: boolean;
  readonly isQuick?: boolean;
}

export const ownMeasurements: readonly OwnMeasurement[] = [
  { name: "drain with 1,000,000 finished and 200,000 pending", kind: "past", isNeeded: true },
  {
    name: "drain with 1,000,000 due tomorrow at a higher priority",
    kind: "future",
    isNeeded: true,
  },
  { name: "60 s at 2,000/s under an old snapshot", kind: "snapshot", isNeeded: true },
  { name: "drain by 1, 2, 4 and 8 processes", kind: "processes", isNeeded: true },
  { name: "drain of a queue capped at 100 by 2 processes", kind: "caps", isNeeded: true },
  { name: "drain while four readers scan", kind: "readers" },
  { name: "drain of 1, 10 and 100 queues", kind: "queues" },
  { name: "payloads of 100 B, 4 kB and 100 kB", kind: "payloads" },
];

/** A figure of ours against another of ours, within the same repetition. */
function own(name: string, phase: string, metrics: readonly [string, string], least: number): Bar {
  const who = ["posthaste/default"];
  const [above, below] = metrics;
  return {
    name,
    least,
    values: (results: readonly Result[]) =>
      ratios(results, { who, phase, metric: above }, { who, phase, metric: below }),
  };
}

const processes = "drain by 1, 2, 4 and 8 processes";

export const ownBars: readonly Bar[] = [
  own(
    "drain with 1,000,000 finished, × fresh",
    "drain with 1,000,000 finished and 200,000 pending",
    ["tasks/s", "fresh tasks/s"],
    0.9,
  ),
  own(
    "drain with 1,000,000 due tomorrow, × fresh",
    "drain with 1,000,000 due tomorrow at a higher priority",
    ["tasks/s", "fresh tasks/s"],
    0.85,
  ),
  own(
    "under an old snapshot, last 10 s × first 10 s",
    "60 s at 2,000/s under an old snapshot",
    ["last tasks/s", "first tasks/s"],
    0.8,
  ),
  own(
    "two processes, a queue capped at 100, × uncapped",
    "drain of a queue capped at 100 by 2 processes",
    ["tasks/s", "uncapped tasks/s"],
    0.5,
  ),
  {
    name: "two processes, × one (or both cores are full)",
    least: 1.1,
    values: (results) => {
      const who = ["posthaste/default"];
      const busy = perRepetition(results, {
        who,
        phase: processes,
        metric: "cores busy, 2 processes",
      });
      return ratios(
        results,
        { who, phase: processes, metric: "tasks/s, 2 processes" },
        { who, phase: processes, metric: "tasks/s, 1 process" },
      ).map((ratio, index) =>
        ([...busy.values()][index] ?? 0) >= 1.8 ? Math.max(ratio, 1.1) : ratio,
      );
    },
  },
];
