/** What is measured: phases with their options, and who takes part in which. */
import { edgeMeasurements } from "./edges.ts";
import type { PhaseOptions } from "./phases.ts";

export interface Measurement {
  /** As it is called in tables and on the command line. */
  readonly name: string;
  readonly phase: string;
  readonly options: PhaseOptions;
  /** "system/config". */
  readonly contenders: readonly string[];
  /** What bars need, what `--quick` shows, or neither. */
  readonly isNeeded?: boolean;
  readonly isQuick?: boolean;
  /** Also asked for by `--only edges`. */
  readonly isEdge?: boolean;
  /** Where one is enough: it repeats what it measures many times. */
  readonly repetitions?: number;
}

const ours = ["posthaste/default"];
const oursBoth = ["posthaste/default", "posthaste/tuned"];
/** Who has graphs of tasks, too. */
const flowPeers = ["posthaste/default", "pg-boss/tuned", "bullmq-redis/default"];
const slow = ["bullmq-postgres/default", "dbos/tuned"];

/** Each peer in its best configuration for the phase; `systems` says what that is. */
export const measurements: readonly Measurement[] = [
  ...edgeMeasurements,
  {
    name: "sends, 1 caller",
    phase: "sends",
    options: { callers: 1 },
    contenders: [
      ...ours,
      "pg-boss/quiet",
      "graphile-worker/default",
      "bullmq-redis/default",
      ...slow,
    ],
  },
  {
    name: "sends, 256 callers",
    phase: "sends",
    options: { callers: 256 },
    contenders: [
      ...ours,
      "pg-boss/quiet",
      "graphile-worker/default",
      "bullmq-redis/default",
      ...slow,
    ],
  },
  {
    name: "bulk of 10,000",
    phase: "bulk",
    options: { count: 10_000 },
    contenders: [
      ...ours,
      "pg-boss/quiet",
      "graphile-worker/default",
      "bullmq-redis/default",
      ...slow,
    ],
  },
  {
    name: "bulk of 100,000",
    phase: "bulk",
    options: { count: 100_000 },
    contenders: [...ours, "pg-boss/quiet", "graphile-worker/default", "bullmq-redis/default"],
    isNeeded: true,
  },
  {
    name: "drain of 1 ms tasks",
    phase: "drain",
    options: { concurrency: 100, taskMs: 1, warmUp: 2_000 },
    contenders: [...oursBoth, "pg-boss/tuned", "graphile-worker/tuned", "bullmq-redis/default"],
  },
  {
    name: "send to start at 20/s, one process",
    phase: "latency",
    options: { seconds: 10 },
    contenders: [
      ...ours,
      "pg-boss/tuned",
      "graphile-worker/tuned",
      "graphile-worker/default",
      "bullmq-redis/default",
      "bullmq-postgres/default",
    ],
  },
  {
    name: "idle",
    phase: "idle",
    options: { seconds: 10 },
    contenders: [
      ...ours,
      "pg-boss/tuned",
      "graphile-worker/tuned",
      "bullmq-redis/default",
      "dbos/default",
    ],
    isNeeded: true,
  },
  {
    name: "workflows: 5,000 of three nodes",
    phase: "flows",
    options: { flow: "small", count: 5_000 },
    contenders: ours,
    isNeeded: true,
  },
  {
    name: "workflows: fan-out and fan-in",
    phase: "flows",
    options: { flow: "fan", count: 3 },
    contenders: ours,
    isNeeded: true,
  },
  {
    name: "workflows: a chain of 1,000",
    phase: "flows",
    options: { flow: "chain", count: 1_000 },
    contenders: ours,
    isNeeded: true,
  },
  {
    name: "workflows: 1,000 of three nodes, peers",
    phase: "flows",
    options: { flow: "small", count: 1_000 },
    contenders: flowPeers,
    isNeeded: true,
    repetitions: 1,
  },
  {
    name: "workflows: fan-out and fan-in, peers",
    phase: "flows",
    options: { flow: "fan", count: 1 },
    contenders: flowPeers,
    isNeeded: true,
    repetitions: 1,
  },
  {
    name: "workflows: a chain of 50, peers",
    phase: "flows",
    options: { flow: "chain", count: 50 },
    contenders: flowPeers,
    isNeeded: true,
    repetitions: 1,
  },
  {
    name: "recovery after SIGKILL",
    phase: "recovery",
    options: { processes: 10, count: 50 },
    contenders: ["posthaste/requeue", "posthaste/requeue-1s"],
    repetitions: 1,
  },
  {
    name: "recovery after SIGKILL, peers",
    phase: "recovery",
    options: { processes: 10, count: 10 },
    contenders: ["pg-boss/heartbeats", "bullmq-redis/default"],
    repetitions: 1,
  },
];
