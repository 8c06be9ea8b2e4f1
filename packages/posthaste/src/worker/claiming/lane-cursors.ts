/**
 * The lanes in which a worker expects tasks, each with a mark: no due task is known before that time. A claim starts at the mark, so
 * it does not read dead rows again that an old snapshot keeps: under one, at 2,000 tasks/s, a claim without marks went from 2 to
 * 56 ms in 75 s.
 *
 * The survey finds tasks behind a mark (late commits, released tasks). It only lowers marks.
 */
import type { WakeHint } from "../../domain/wake-hint.ts";
import type { ClaimedTask, ClaimLane } from "../../store/queries/claim/claim-tasks.ts";
import type { SurveyedLane } from "../../store/queries/claim/survey-lanes.ts";

/** A claim still finds a task whose commit is this much later than the time in its row. Later commits wait for a survey. */
const LATE_COMMITS_MS = 500;
/**
 * Half a second of sends at full speed leaves 50,000 dead rows, and reading them took a quarter of a claim's time. So while there
 * are more tasks than slots, only one claim in 50 ms looks back that far.
 */
const LOOK_BACK_EVERY_MS = 50;
/** Marks are rounded. */
const ROUNDING_MS = 5;
/** A lane without a task for this long is dropped; a survey finds it again. */
const FORGET_AFTER_MS = 60_000;

interface Lane {
  readonly queue: string;
  readonly priority: number;
  /** By the rank of the queue, then by priority: lanes of one place are emptied together. */
  readonly place: number;
  mark: number;
  seenAt: number;
}

export class LaneCursors {
  readonly #queueRanks: ReadonlyMap<string, number>;
  #lanes: Lane[] = [];
  #lookedBackAt = -Infinity;

  /** Lower ranks are emptied first. */
  constructor(queueRanks: ReadonlyMap<string, number>) {
    this.#queueRanks = queueRanks;
  }

  /** Whether this claim looks before the marks. `isBacklogged`: there are more tasks than slots. */
  looksBack(isBacklogged: boolean, now: number): boolean {
    const looksBack = !isBacklogged || now - this.#lookedBackAt >= LOOK_BACK_EVERY_MS;
    if (looksBack) this.#lookedBackAt = now;
    return looksBack;
  }

  /** In the order of their places. */
  list(looksBack: boolean): ClaimLane[] {
    const margin = looksBack ? LATE_COMMITS_MS : ROUNDING_MS;
    return this.#lanes.map(({ queue, priority, place, mark }) => ({
      queue,
      priority,
      place,
      mark: mark - margin,
    }));
  }

  /** Whether lanes of several queues are to be emptied together, by time. */
  get hasTies(): boolean {
    return hasTies(this.#lanes);
  }

  get isEmpty(): boolean {
    return this.#lanes.length === 0;
  }

  /** These were claimed: older tasks of their lane are claimed too, or locked by another session. */
  advance(
    claimed: readonly { queue: string; priority: number; enqueuedAt: number }[],
    now: number,
  ): void {
    for (const { queue, priority, enqueuedAt } of claimed) {
      const lane = this.#lane(queue, priority, now);
      if (enqueuedAt > lane.mark) lane.mark = enqueuedAt;
    }
  }

  /** A notification, or something this worker put back itself. */
  hint(queue: string, { priority, due }: WakeHint, now: number): void {
    if (!this.#queueRanks.has(queue)) return;
    const lane = this.#lane(queue, priority, now);
    if (due === "back") lane.mark = -Infinity;
  }

  /** The lanes that a survey found which began at `startedAt`. */
  correct(found: readonly SurveyedLane[], startedAt: number): void {
    for (const { queue, priority, firstEnqueuedAt } of found) {
      const lane = this.#lane(queue, priority, startedAt);
      lane.mark = Math.min(lane.mark, firstEnqueuedAt);
    }
    this.#lookedBackAt = -Infinity;
    this.#lanes = this.#lanes.filter(({ seenAt }) => startedAt - seenAt < FORGET_AFTER_MS);
  }

  #lane(queue: string, priority: number, now: number): Lane {
    const known = this.#lanes.find((lane) => lane.queue === queue && lane.priority === priority);
    if (known !== undefined) {
      known.seenAt = Math.max(known.seenAt, now);
      return known;
    }
    const place = (this.#queueRanks.get(queue) ?? 0) * 1000 + priority;
    const lane: Lane = { queue, priority, place, mark: -Infinity, seenAt: now };
    this.#lanes.push(lane);
    this.#lanes.sort((a, b) => a.place - b.place);
    return lane;
  }
}

/** Whether two lanes share a place. The lanes are in the order of their places. */
export function hasTies(lanes: readonly Pick<ClaimLane, "place">[]): boolean {
  return lanes.some(({ place }, n) => place !== undefined && place === lanes[n + 1]?.place);
}

interface Place {
  readonly queue: string;
  readonly priority: number;
}

/** Which lane comes first: by the rank of its queue, then by priority. */
export function byLane(queueRanks: ReadonlyMap<string, number>): (a: Place, b: Place) => number {
  const rank = ({ queue }: Place): number => queueRanks.get(queue) ?? 0;
  return (a, b) => rank(a) - rank(b) || a.priority - b.priority;
}

/** RETURNING gives rows in the order of their pages; tasks start in the order of their lanes and times. */
export function inClaimOrder(
  tasks: ClaimedTask[],
  queueRanks: ReadonlyMap<string, number>,
): ClaimedTask[] {
  const lanes = byLane(queueRanks);
  return tasks.sort((a, b) => lanes(a, b) || a.enqueuedAt - b.enqueuedAt || (a.id < b.id ? -1 : 1));
}
