/**
 * When a worker asks for tasks: after a notification, when a task falls due, after a full answer, and when a survey is due, which
 * covers lost notifications.
 */
import type { WakeHint } from "../../domain/wake-hint.ts";

/** A survey may take 2 % of a worker's time, and comes at most once a second. */
const SURVEY_SHARE = 50;
const SURVEY_EVERY_MS = 1_000;
/** How long after a full cap the worker asks again, if no task of its own ends earlier. */
const HELD_BACK_MS = 250;

export class PollSchedule {
  readonly #pollEveryMs: number;
  #shouldPoll = true;
  #isBacklogged = false;
  #nextDueAt = Infinity;
  #capCheckAt = Infinity;
  #pollAt = Infinity;
  #isSurveyOwed = true;
  #surveyAt = 0;
  #wakes = 0;

  constructor(pollEveryMs: number) {
    this.#pollEveryMs = pollEveryMs;
  }

  /** Counts the events that announced tasks; compared before and after a claim. */
  get wakes(): number {
    return this.#wakes;
  }

  /** The last claim came back full: there is more work than slots. */
  get isBacklogged(): boolean {
    return this.#isBacklogged;
  }

  /** A due task waits for room under a cap. */
  get isHeldBack(): boolean {
    return this.#capCheckAt !== Infinity;
  }

  isCapCheckDue(now: number): boolean {
    return now >= this.#capCheckAt;
  }

  shouldPoll(now: number): boolean {
    return this.#shouldPoll || now >= this.#nextDueAt || this.isCapCheckDue(now);
  }

  isSurveyDue(now: number): boolean {
    return (this.#isSurveyOwed && now >= this.#surveyAt) || now >= this.#pollAt;
  }

  /** How long the loop may sleep unless it is woken. Due tasks that could not be claimed do not count. */
  restMs(now: number): number {
    const due = this.#nextDueAt > now ? this.#nextDueAt : Infinity;
    const survey = this.#isSurveyOwed ? this.#surveyAt : Infinity;
    return Math.max(0, Math.min(due, this.#capCheckAt, this.#pollAt, survey) - now);
  }

  wake(due: WakeHint["due"], now: number): void {
    this.#wakes++;
    if (due === "back" || due <= 0) this.#shouldPoll = true;
    else this.#nextDueAt = Math.min(this.#nextDueAt, now + due);
  }

  /** Notifications may have been lost: look everywhere, now. */
  lookAround(): void {
    this.#wakes++;
    this.#isSurveyOwed = true;
    this.#surveyAt = 0;
  }

  /** A claim left due tasks because a cap is full. Any worker may make room at any time. */
  holdBack(now: number): void {
    // Spread, so that workers that wait for the same room do not ask together.
    this.#capCheckAt = now + HELD_BACK_MS * (0.75 + 0.5 * Math.random());
  }

  /** There may be room under a cap now. */
  madeRoom(): void {
    if (this.isHeldBack) this.#capCheckAt = 0;
  }

  /** A claim came back. `isFull`: there may be more. `wakesBefore`: the count when it was sent. */
  onReply(
    reply: { isFull: boolean; isHeldBack: boolean; nextDueMs: number | null; wakesBefore: number },
    now: number,
  ): void {
    const isNews = this.#wakes !== reply.wakesBefore;
    this.#capCheckAt = Infinity;
    if (reply.isHeldBack) this.holdBack(now);
    this.#isBacklogged = reply.isFull;
    this.#shouldPoll = reply.isFull || isNews;
    if (!isNews) this.#nextDueAt = reply.nextDueMs === null ? Infinity : now + reply.nextDueMs;
    // No more due tasks are known, but tasks may have committed behind the marks.
    if (!reply.isFull && !reply.isHeldBack) this.#isSurveyOwed = true;
  }

  /** A task is due, and no lane is known: survey now. */
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
    // A survey sees every lane, so it also removes known due times; hints that came meanwhile stay.
    const isNews = this.#wakes !== wakesBefore;
    this.#shouldPoll = firstDueMs <= 0 || (isNews && this.#shouldPoll);
    const nextDueAt = firstDueMs > 0 ? now + firstDueMs : Infinity;
    this.#nextDueAt = isNews ? Math.min(this.#nextDueAt, nextDueAt) : nextDueAt;
  }
}
