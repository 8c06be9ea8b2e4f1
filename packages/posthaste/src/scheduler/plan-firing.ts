/** Decides what becomes of a schedule that is due: the slots that fire, the slots that are skipped, and the state that follows. No I/O but its composer's. */
import { dueAt, dueSlots, type DueSlots } from "../domain/schedules/due-slots.ts";
import { decideOverlap } from "../domain/schedules/overlap.ts";
import type { ScheduleRow, ScheduleState } from "../store/queries/schedule/schedule-rows.ts";
import type { FiringRow } from "../store/queries/schedule/write-firings.ts";
import type { Outgoing } from "./compose-firing.ts";
import type { StoredRules } from "./firing-rules.ts";

/** So many failures in a row pause a schedule: with growing pauses some four minutes, longer than most deployments. */
export const MOST_FAILURES = 10;
const LONGEST_RETRY_MS = 60_000;
/** A slot that fires later than this was late: another process takes over after 2 s. */
const LATE_MS = 5_000;

export interface FiredSlot {
  readonly slot: number;
  readonly outgoing: Outgoing;
}

export interface FiringPlan {
  readonly row: ScheduleRow;
  readonly fired: readonly FiredSlot[];
  readonly skipped: readonly FiringRow[];
  /** The state without the last firing, which is known when its row is written. */
  readonly state: ScheduleState;
  readonly missed: DueSlots["missed"];
  readonly late: readonly { readonly slot: number; readonly lateMs: number }[];
  /** Why it could not fire. */
  readonly error: unknown;
}

export interface PlanOptions {
  readonly rules: StoredRules;
  readonly isBusy: boolean;
  /** Composes what a slot sends. */
  readonly compose: () => Promise<Outgoing>;
}

export async function planFiring(
  row: ScheduleRow,
  { rules, isBusy, compose }: PlanOptions,
): Promise<FiringPlan> {
  const { now } = row;
  const isDue = row.nextSlot !== null && row.dueAt !== null && row.dueAt <= now;
  // A slot that could not fire was not missed: it is retried until a later one is due.
  const isRetry = row.failures > 0 && rules.missed === "skip";
  const due: DueSlots = isDue
    ? dueSlots(isRetry ? { ...rules, missed: "latest" } : rules, row.nextSlot, now)
    : { fire: [], missed: undefined, next: row.nextSlot ?? undefined };
  const overlap = decideOverlap(rules.overlap, { isBusy, buffered: row.bufferedSlot }, due.fire);
  const fired: FiredSlot[] = [];
  try {
    for (const slot of overlap.fire) fired.push({ slot, outgoing: await compose() });
  } catch (error) {
    return failedPlan(row, error);
  }
  const state: ScheduleState = {
    ...row,
    nextSlot: due.next ?? null,
    dueAt: isDue ? (due.next === undefined ? null : dueAt(rules, due.next)) : row.dueAt,
    bufferedSlot: overlap.buffered,
    failures: fired.length > 0 ? 0 : row.failures,
    lastError: fired.length > 0 ? null : row.lastError,
  };
  return {
    row,
    fired,
    skipped: skippedRows(row.name, due.missed, overlap.skipped),
    state,
    missed: due.missed,
    late: due.fire
      .filter((slot) => overlap.fire.includes(slot))
      .map((slot) => ({ slot, lateMs: now - dueAt(rules, slot) }))
      .filter(({ lateMs }) => lateMs >= LATE_MS),
    error: undefined,
  };
}

/** The slot stays, and is tried again after a growing pause. */
export function failedPlan(row: ScheduleRow, error: unknown): FiringPlan {
  const failures = row.failures + 1;
  const isPaused = failures >= MOST_FAILURES;
  const retryMs = Math.min(LONGEST_RETRY_MS, 1_000 * 2 ** (failures - 1));
  return {
    row,
    fired: [],
    skipped: [],
    state: {
      ...row,
      dueAt: row.now + retryMs,
      failures,
      lastError: error instanceof Error ? error.message : String(error),
      pausedAt: isPaused ? row.now : null,
      pausedBy: isPaused ? "failures" : null,
    },
    missed: undefined,
    late: [],
    error,
  };
}

function skippedRows(
  schedule: string,
  missed: DueSlots["missed"],
  overlapping: readonly number[],
): FiringRow[] {
  const plain = { schedule, taskId: null, runId: null, firstSlot: null, triggered: false };
  const rows = overlapping.map((slot): FiringRow => ({ ...plain, slot, skipped: "overlap" }));
  if (missed !== undefined) {
    const firstSlot = missed.from === missed.to ? null : missed.from;
    rows.push({ ...plain, slot: missed.to, firstSlot, skipped: "missed" });
  }
  return rows;
}
