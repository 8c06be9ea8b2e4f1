/**
 * What a worker knows about where work is: the priorities in use of each queue, and for each of them a low-water mark
 * below which nothing due is known to be. The claim starts at the mark, so it never walks again over rows that are
 * gone but kept by somebody's old snapshot: under one, at 2,000 tasks/s, a claim without marks went from 2 to 56 ms in
 * 75 s.
 *
 * What lands behind a mark (late commits, tasks given back) is found by the survey, which only lowers marks.
 */
import type { WakeHint } from "../domain/wake-hint.ts";
import type { ClaimLane } from "../store/queries/claim-tasks.ts";
import type { SurveyedLane } from "../store/queries/survey-lanes.ts";

/** A commit may be this much younger than the time in its row without a survey having to find it. */
const LATE_COMMITS_MS = 500;
/**
 * In half a second of sends at full speed there are 50,000 rows, all gone by now, and walking over them took a quarter of
 * a claim's time. So while there is more work than slots, only one claim in 50 ms looks back that far.
 */
const LOOK_BACK_EVERY_MS = 50;
/** Marks are rounded. */
const ROUNDING_MS = 5;
/** A lane in which nothing was seen for so long is forgotten; the survey brings it back. */
const FORGET_AFTER_MS = 60_000;

interface Lane {
  readonly queue: string;
  readonly priority: number;
  /** By the rank of the queue, then by priority: lanes of one place are emptied together. */
  readonly place: number;
  mark: number;
  seenAt: number;
}

export class ClaimLanes {
  readonly #queueRanks: ReadonlyMap<string, number>;
  #lanes: Lane[] = [];
  #lookedBackAt = -Infinity;

  /** Lower ranks are emptied first. */
  constructor(queueRanks: ReadonlyMap<string, number>) {
    this.#queueRanks = queueRanks;
  }

  /** Whether the claim that is made now looks before the marks. `isFeast`: there is more work than slots. */
  looksBack(isFeast: boolean, now: number): boolean {
    const looksBack = !isFeast || now - this.#lookedBackAt >= LOOK_BACK_EVERY_MS;
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

  /** Claimed tasks: everything older in their lane is taken, or held by somebody. */
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

  /** What a survey that began at `startedAt` found. */
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

/** Of lanes in the order of their places. */
export function hasTies(lanes: readonly Pick<ClaimLane, "place">[]): boolean {
  return lanes.some(({ place }, n) => place !== undefined && place === lanes[n + 1]?.place);
}
