/**
 * Whether, and when, a worker should ask for work. It asks when something says that there may be some: a notification,
 * a task that falls due, a full answer last time, or the survey that covers every notification that
 * got lost.
 */
import type { WakeHint } from "../domain/wake-hint.ts";

/** A survey may take 2 % of a worker's time, and comes at most once a second. */
const SURVEY_SHARE = 50;
const SURVEY_EVERY_MS = 1_000;
/** How long after a cap was found reached it is asked again, if nothing of this worker's ends earlier. */
const HELD_BACK_MS = 250;

export class ClaimAppetite {
  readonly #pollEveryMs: number;
  #isHungry = true;
  #isFeast = false;
  #nextDueAt = Infinity;
  #retryAt = Infinity;
  #pollAt = Infinity;
  #isSurveyOwed = true;
  #surveyAt = 0;
  #wakes = 0;

  constructor(pollEveryMs: number) {
    this.#pollEveryMs = pollEveryMs;
  }

  /** Counts what has said that there may be work; compare before and after a claim. */
  get wakes(): number {
    return this.#wakes;
  }

  /** The last claim came back full: there is more work than slots. */
  get isFeast(): boolean {
    return this.#isFeast;
  }

  /** Something due waits for room under a cap. */
  get isHeldBack(): boolean {
    return this.#retryAt !== Infinity;
  }

  isRetryDue(now: number): boolean {
    return now >= this.#retryAt;
  }

  isHungry(now: number): boolean {
    return this.#isHungry || now >= this.#nextDueAt || this.isRetryDue(now);
  }

  isSurveyDue(now: number): boolean {
    return (this.#isSurveyOwed && now >= this.#surveyAt) || now >= this.#pollAt;
  }

  /** How long nothing needs doing unless somebody says so. What is due already and could not be claimed does not count. */
  restMs(now: number): number {
    const due = this.#nextDueAt > now ? this.#nextDueAt : Infinity;
    const survey = this.#isSurveyOwed ? this.#surveyAt : Infinity;
    return Math.max(0, Math.min(due, this.#retryAt, this.#pollAt, survey) - now);
  }

  wake(due: WakeHint["due"], now: number): void {
    this.#wakes++;
    if (due === "back" || due <= 0) this.#isHungry = true;
    else this.#nextDueAt = Math.min(this.#nextDueAt, now + due);
  }

  /** Notifications may have been lost: look everywhere, now. */
  lookAround(): void {
    this.#wakes++;
    this.#isSurveyOwed = true;
    this.#surveyAt = 0;
  }

  /** Something due was left because a cap is reached: room may be made by anybody, at any time. */
  holdBack(now: number): void {
    // Spread, so that workers that wait for the same room do not ask together.
    this.#retryAt = now + HELD_BACK_MS * (0.75 + 0.5 * Math.random());
  }

  /** There may be room under a cap now. */
  madeRoom(): void {
    if (this.isHeldBack) this.#retryAt = 0;
  }

  /** A claim came back. `isFull`: there may be more. `wakesBefore`: the count when it was sent. */
  fed(
    reply: { isFull: boolean; isHeldBack: boolean; nextDueMs: number | null; wakesBefore: number },
    now: number,
  ): void {
    const isNews = this.#wakes !== reply.wakesBefore;
    this.#retryAt = Infinity;
    if (reply.isHeldBack) this.holdBack(now);
    this.#isFeast = reply.isFull;
    this.#isHungry = reply.isFull || isNews;
    if (!isNews) this.#nextDueAt = reply.nextDueMs === null ? Infinity : now + reply.nextDueMs;
    // Nothing more in sight: what landed behind the marks may be there all the same.
    if (!reply.isFull && !reply.isHeldBack) this.#isSurveyOwed = true;
  }

  /** Something is due, and nobody knows where: every lane has been forgotten. */
  loseTrack(): void {
    this.#isSurveyOwed = true;
  }

  /** A survey came back: how long it took, and when the first task of all is due (0 or less: now). */
  surveyed(
    {
      tookMs,
      firstDueMs,
      wakesBefore,
    }: { tookMs: number; firstDueMs: number; wakesBefore: number },
    now: number,
  ): void {
    this.#isSurveyOwed = false;
    this.#surveyAt = now + Math.max(SURVEY_EVERY_MS, SURVEY_SHARE * tookMs);
    // Polls are spread, so that workers that started together do not ask together.
    this.#pollAt = Math.max(
      this.#surveyAt,
      now + this.#pollEveryMs * (0.75 + 0.25 * Math.random()),
    );
    // It has seen everything there is, so it also knows what is there no more; hints that came meanwhile stay.
    const isNews = this.#wakes !== wakesBefore;
    this.#isHungry = firstDueMs <= 0 || (isNews && this.#isHungry);
    const nextDueAt = firstDueMs > 0 ? now + firstDueMs : Infinity;
    this.#nextDueAt = isNews ? Math.min(this.#nextDueAt, nextDueAt) : nextDueAt;
  }
}
