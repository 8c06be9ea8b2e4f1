/** `admin.stats()`: how much waits, how fast tasks end, how long they wait and run. */
import type { Database } from "../database/database.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import { addAll, percentile } from "../domain/histogram.ts";
import { OptionReader } from "../domain/option-reader.ts";
import type { CountedEnds, QueueDepth } from "../store/queries/statistics/read-statistics.ts";

export interface StatsOptions {
  /** The span of counts, rates and percentiles. Default 15 minutes; from 1 minute to 31 days. */
  readonly spanMs?: number;
}

/** In milliseconds, within a fifth of the exact value. Null: no attempt began in the span. */
export interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** The ends of a span. Workers report them every half minute; a killed worker loses its last half minute. */
export interface EndStats {
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly expired: number;
  /** Attempts that failed and were retried. */
  readonly retried: number;
  /** Ended tasks per second. */
  readonly perSecond: number;
  /** From due to started. */
  readonly wait: Percentiles;
  /** From started to ended. */
  readonly run: Percentiles;
}

export interface QueueStats extends EndStats {
  readonly name: string;
  /** Tasks that are due and not claimed. */
  readonly ready: number;
  /** Tasks that are due later: sent with a delay, or waiting for a retry. */
  readonly delayed: number;
  readonly claimed: number;
  readonly running: number;
  /** For how long its oldest ready task has been due. Null: none is. */
  readonly oldestReadyMs: number | null;
  /** True: a priority of the queue has more than 100,000 ready or delayed tasks, and these were not counted further. */
  readonly isCapped: boolean;
}

export interface TaskStats extends EndStats {
  readonly name: string;
  readonly queue: string;
}

export interface Stats {
  readonly spanMs: number;
  readonly queues: readonly QueueStats[];
  /** Task names with an end in the span, by queue. */
  readonly tasks: readonly TaskStats[];
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const DEFAULT_SPAN_MS = 15 * MINUTE_MS;
const MOST_SPAN_MS = 31 * DAY_MS;
/** Per lane: some milliseconds of reading. */
const MOST_COUNTED = 100_000;

export function readStatsOptions(options: StatsOptions | undefined): number {
  const problems: Problem[] = [];
  const given = new OptionReader("", options, ["spanMs"], problems);
  const spanMs = given.integer("spanMs", { min: MINUTE_MS, max: MOST_SPAN_MS }, DEFAULT_SPAN_MS);
  if (problems.length > 0)
    throw PosthasteError.of("VALIDATION_FAILED", "no statistics were read", problems);
  return spanMs;
}

export async function readStats({ store, reads }: Database, spanMs: number): Promise<Stats> {
  const [queues, tasks] = await Promise.all([
    store.readStatistics.depths(reads, MOST_COUNTED),
    store.readStatistics.ends(reads, spanMs),
  ]);
  return {
    spanMs,
    queues: withEnded(queues, tasks).map(({ queue, ...depth }) => {
      const ofQueue = tasks.filter((task) => task.queue === queue);
      return { name: queue, ...depth, ...endStats(ofQueue, spanMs) };
    }),
    tasks: tasks.map((task) => ({
      name: task.name,
      queue: task.queue,
      ...endStats([task], spanMs),
    })),
  };
}

/** Adds queues that are known only by their ended tasks. */
function withEnded(queues: readonly QueueDepth[], tasks: readonly CountedEnds[]): QueueDepth[] {
  const known = new Set(queues.map(({ queue }) => queue));
  const ended = [...new Set(tasks.map(({ queue }) => queue))].filter((queue) => !known.has(queue));
  const none = { ready: 0, delayed: 0, claimed: 0, running: 0, oldestReadyMs: null };
  return [...queues, ...ended.map((queue) => ({ queue, ...none, isCapped: false }))];
}

function endStats(parts: readonly CountedEnds[], spanMs: number): EndStats {
  const counts = { completed: 0, failed: 0, cancelled: 0, expired: 0, retried: 0 };
  const [wait, run]: [number[], number[]] = [[], []];
  for (const part of parts) {
    for (const kind of Object.keys(counts) as (keyof typeof counts)[]) counts[kind] += part[kind];
    addAll(wait, part.wait);
    addAll(run, part.run);
  }
  const { completed, failed, cancelled, expired } = counts;
  const perSecond = (completed + failed + cancelled + expired) / (spanMs / 1_000);
  return { ...counts, perSecond, wait: percentilesOf(wait), run: percentilesOf(run) };
}

function percentilesOf(counts: readonly number[]): Percentiles {
  return {
    p50: percentile(counts, 0.5),
    p95: percentile(counts, 0.95),
    p99: percentile(counts, 0.99),
  };
}
