import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { PollSchedule } from "./poll-schedule.ts";

beforeEach(() => void vi.spyOn(Math, "random").mockReturnValue(1));
afterEach(() => void vi.restoreAllMocks());

/** A survey at `now`, without a hint during it. */
function survey(schedule: PollSchedule, tookMs: number, firstDueMs: number, now: number): void {
  schedule.surveyed({ tookMs, firstDueMs, wakesBefore: schedule.wakes }, now);
}

/** A schedule whose survey at time 0 found nothing. */
function settled() {
  const schedule = new PollSchedule(5_000);
  survey(schedule, 1, Infinity, 0);
  schedule.onReply({ isFull: false, isHeldBack: false, nextDueMs: null, wakesBefore: 0 }, 0);
  survey(schedule, 1, Infinity, 0);
  return schedule;
}

describe("PollSchedule", () => {
  test("asks and surveys at its start", () => {
    const schedule = new PollSchedule(5_000);
    expect([schedule.shouldPoll(0), schedule.isSurveyDue(0), schedule.restMs(0)]).toEqual([
      true,
      true,
      0,
    ]);
  });

  test("rests until the next poll when no task is due", () => {
    const schedule = settled();
    expect(schedule.shouldPoll(4_999)).toBe(false);
    expect(schedule.restMs(0)).toBe(5_000);
    expect(schedule.isSurveyDue(4_999)).toBe(false);
    expect(schedule.isSurveyDue(5_000)).toBe(true);
  });

  describe("when a hint arrives", () => {
    test.each([0, -5, "back"] as const)("asks at once when it is due %s", (due) => {
      const schedule = settled();
      schedule.wake(due, 100);
      expect(schedule.shouldPoll(100)).toBe(true);
    });

    test("asks at the earliest due time, to the millisecond", () => {
      const schedule = settled();
      schedule.wake(300, 100);
      schedule.wake(900, 100);
      expect(schedule.restMs(100)).toBe(300);
      expect([schedule.shouldPoll(399), schedule.shouldPoll(400)]).toEqual([false, true]);
    });

    test("asks again when the hint came during a claim that found nothing", () => {
      const schedule = settled();
      const wakesBefore = schedule.wakes;
      schedule.wake(0, 100);
      schedule.onReply({ isFull: false, isHeldBack: false, nextDueMs: null, wakesBefore }, 101);
      expect(schedule.shouldPoll(101)).toBe(true);
    });

    test("keeps the due time of a hint that came during a claim", () => {
      const schedule = settled();
      const wakesBefore = schedule.wakes;
      schedule.wake(300, 100);
      schedule.onReply({ isFull: false, isHeldBack: false, nextDueMs: null, wakesBefore }, 101);
      schedule.onReply(
        { isFull: false, isHeldBack: false, nextDueMs: 299, wakesBefore: schedule.wakes },
        102,
      );
      expect(schedule.shouldPoll(400)).toBe(false);
      expect(schedule.shouldPoll(401)).toBe(true);
    });
  });

  describe("when a claim returns", () => {
    test("asks again at once after a full answer", () => {
      const schedule = settled();
      schedule.onReply(
        { isFull: true, isHeldBack: false, nextDueMs: null, wakesBefore: schedule.wakes },
        0,
      );
      expect(schedule.shouldPoll(0)).toBe(true);
    });

    test("asks at the next due time and surveys once after a short answer", () => {
      const schedule = settled();
      schedule.onReply(
        { isFull: false, isHeldBack: false, nextDueMs: 40, wakesBefore: schedule.wakes },
        2_000,
      );
      expect(schedule.shouldPoll(2_000)).toBe(false);
      expect(schedule.shouldPoll(2_040)).toBe(true);
      expect(schedule.isSurveyDue(2_000)).toBe(true);
    });
  });

  describe("when it surveys", () => {
    test("surveys at most once a second", () => {
      const schedule = settled();
      schedule.onReply(
        { isFull: false, isHeldBack: false, nextDueMs: null, wakesBefore: schedule.wakes },
        10,
      );
      expect(schedule.isSurveyDue(999)).toBe(false);
      expect(schedule.restMs(10)).toBe(990);
      expect(schedule.isSurveyDue(1_000)).toBe(true);
    });

    test("spends at most a fiftieth of the time on slow surveys", () => {
      const schedule = settled();
      survey(schedule, 100, Infinity, 0);
      schedule.onReply(
        { isFull: false, isHeldBack: false, nextDueMs: null, wakesBefore: schedule.wakes },
        10,
      );
      expect([schedule.isSurveyDue(4_999), schedule.isSurveyDue(5_000)]).toEqual([false, true]);
    });

    test("surveys at once when notifications may be lost", () => {
      const schedule = settled();
      schedule.lookAround();
      expect(schedule.isSurveyDue(1)).toBe(true);
    });

    test.each([
      [0, 50, true],
      [-20, 50, true],
      [700, 749, false],
      [700, 750, true],
    ])(
      "after a survey with a task due in %i ms: asks at %i is %s",
      (firstDueMs, now, shouldPoll) => {
        const schedule = settled();
        survey(schedule, 1, firstDueMs, 50);
        expect(schedule.shouldPoll(now)).toBe(shouldPoll);
      },
    );

    test("forgets its due time when the survey finds no task", () => {
      const schedule = settled();
      schedule.wake(300, 0);
      survey(schedule, 1, Infinity, 350);
      expect(schedule.shouldPoll(350)).toBe(false);
      expect(schedule.restMs(350)).toBe(5_000);
    });

    test("keeps a hint that came during the survey", () => {
      const schedule = settled();
      const wakesBefore = schedule.wakes;
      schedule.wake(300, 100);
      schedule.surveyed({ tookMs: 1, firstDueMs: Infinity, wakesBefore }, 110);
      expect([schedule.shouldPoll(399), schedule.shouldPoll(400)]).toEqual([false, true]);
    });

    test("waits for the survey when a task is due in an unknown lane", () => {
      const schedule = settled();
      schedule.wake(300, 0);
      schedule.loseTrack();
      expect(schedule.shouldPoll(400)).toBe(true);
      expect(schedule.restMs(400)).toBe(600);
    });
  });

  test("asks again after a pause, or when a slot may be free, while a cap holds it back", () => {
    const schedule = new PollSchedule(5_000);
    const reply = { isFull: false, isHeldBack: true, nextDueMs: null, wakesBefore: 0 };
    schedule.surveyed({ tookMs: 1, firstDueMs: 0, wakesBefore: 0 }, 0);
    schedule.onReply(reply, 1_000);
    expect(schedule.isHeldBack).toBe(true);
    expect(schedule.shouldPoll(1_000)).toBe(false);
    expect(schedule.restMs(1_000)).toBeLessThanOrEqual(313);
    expect(schedule.shouldPoll(1_313)).toBe(true);
    schedule.onReply(reply, 2_000);
    schedule.madeRoom();
    expect(schedule.shouldPoll(2_000)).toBe(true);
    schedule.onReply({ ...reply, isHeldBack: false }, 2_001);
    expect(schedule.isHeldBack).toBe(false);
    schedule.madeRoom();
    expect(schedule.shouldPoll(2_001)).toBe(false);
  });
});
