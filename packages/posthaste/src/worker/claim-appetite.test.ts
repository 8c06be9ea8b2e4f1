import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ClaimAppetite } from "./claim-appetite.ts";

beforeEach(() => void vi.spyOn(Math, "random").mockReturnValue(1));
afterEach(() => void vi.restoreAllMocks());

/** A survey at `now`, during which nobody said anything. */
function survey(appetite: ClaimAppetite, tookMs: number, firstDueMs: number, now: number): void {
  appetite.surveyed({ tookMs, firstDueMs, wakesBefore: appetite.wakes }, now);
}

/** One that has looked around at time 0 and found nothing. */
function settled() {
  const appetite = new ClaimAppetite(5_000);
  survey(appetite, 1, Infinity, 0);
  appetite.fed({ isFull: false, isHeldBack: false, nextDueMs: null, wakesBefore: 0 }, 0);
  survey(appetite, 1, Infinity, 0);
  return appetite;
}

test("it begins hungry and looks around first", () => {
  const appetite = new ClaimAppetite(5_000);
  expect([appetite.isHungry(0), appetite.isSurveyDue(0), appetite.restMs(0)]).toEqual([
    true,
    true,
    0,
  ]);
});

test("with nothing in sight it rests until the poll", () => {
  const appetite = settled();
  expect(appetite.isHungry(4_999)).toBe(false);
  expect(appetite.restMs(0)).toBe(5_000);
  expect(appetite.isSurveyDue(4_999)).toBe(false);
  expect(appetite.isSurveyDue(5_000)).toBe(true);
});

describe("a word that something landed", () => {
  test.each([0, -5, "back"] as const)("due %s makes it hungry now", (due) => {
    const appetite = settled();
    appetite.wake(due, 100);
    expect(appetite.isHungry(100)).toBe(true);
  });

  test("due later is remembered to the millisecond, and the earliest counts", () => {
    const appetite = settled();
    appetite.wake(300, 100);
    appetite.wake(900, 100);
    expect(appetite.restMs(100)).toBe(300);
    expect([appetite.isHungry(399), appetite.isHungry(400)]).toEqual([false, true]);
  });

  test("that comes while a claim is under way is not forgotten when the claim comes back empty", () => {
    const appetite = settled();
    const wakesBefore = appetite.wakes;
    appetite.wake(0, 100);
    appetite.fed({ isFull: false, isHeldBack: false, nextDueMs: null, wakesBefore }, 101);
    expect(appetite.isHungry(101)).toBe(true);
  });

  test("of a task due later, while a claim is under way, keeps its time", () => {
    const appetite = settled();
    const wakesBefore = appetite.wakes;
    appetite.wake(300, 100);
    appetite.fed({ isFull: false, isHeldBack: false, nextDueMs: null, wakesBefore }, 101);
    appetite.fed(
      { isFull: false, isHeldBack: false, nextDueMs: 299, wakesBefore: appetite.wakes },
      102,
    );
    expect(appetite.isHungry(400)).toBe(false);
    expect(appetite.isHungry(401)).toBe(true);
  });
});

describe("a claim that came back", () => {
  test("full: there may be more, now", () => {
    const appetite = settled();
    appetite.fed(
      { isFull: true, isHeldBack: false, nextDueMs: null, wakesBefore: appetite.wakes },
      0,
    );
    expect(appetite.isHungry(0)).toBe(true);
  });

  test("short: the next due time is known, and one look around is owed", () => {
    const appetite = settled();
    appetite.fed(
      { isFull: false, isHeldBack: false, nextDueMs: 40, wakesBefore: appetite.wakes },
      2_000,
    );
    expect(appetite.isHungry(2_000)).toBe(false);
    expect(appetite.isHungry(2_040)).toBe(true);
    expect(appetite.isSurveyDue(2_000)).toBe(true);
  });
});

describe("looking around", () => {
  test("comes at most once a second", () => {
    const appetite = settled();
    appetite.fed(
      { isFull: false, isHeldBack: false, nextDueMs: null, wakesBefore: appetite.wakes },
      10,
    );
    expect(appetite.isSurveyDue(999)).toBe(false);
    expect(appetite.restMs(10)).toBe(990);
    expect(appetite.isSurveyDue(1_000)).toBe(true);
  });

  test("takes at most a fiftieth of the time when it is slow", () => {
    const appetite = settled();
    survey(appetite, 100, Infinity, 0);
    appetite.fed(
      { isFull: false, isHeldBack: false, nextDueMs: null, wakesBefore: appetite.wakes },
      10,
    );
    expect([appetite.isSurveyDue(4_999), appetite.isSurveyDue(5_000)]).toEqual([false, true]);
  });

  test("comes at once when notifications may have been lost", () => {
    const appetite = settled();
    appetite.lookAround();
    expect(appetite.isSurveyDue(1)).toBe(true);
  });

  test.each([
    [0, 50, true],
    [-20, 50, true],
    [700, 749, false],
    [700, 750, true],
  ])("that found something due in %i ms: hungry at %i is %s", (firstDueMs, now, isHungry) => {
    const appetite = settled();
    survey(appetite, 1, firstDueMs, 50);
    expect(appetite.isHungry(now)).toBe(isHungry);
  });

  test("that found nothing forgets what was due: it was cancelled, or others took it", () => {
    const appetite = settled();
    appetite.wake(300, 0);
    survey(appetite, 1, Infinity, 350);
    expect(appetite.isHungry(350)).toBe(false);
    expect(appetite.restMs(350)).toBe(5_000);
  });

  test("keeps what somebody said meanwhile", () => {
    const appetite = settled();
    const wakesBefore = appetite.wakes;
    appetite.wake(300, 100);
    appetite.surveyed({ tookMs: 1, firstDueMs: Infinity, wakesBefore }, 110);
    expect([appetite.isHungry(399), appetite.isHungry(400)]).toEqual([false, true]);
  });

  test("is owed, not spun for, when something is due and nobody knows where", () => {
    const appetite = settled();
    appetite.wake(300, 0);
    appetite.loseTrack();
    expect(appetite.isHungry(400)).toBe(true);
    expect(appetite.restMs(400)).toBe(600);
  });
});

test("held back by a cap it asks again after a while, or as soon as room may have been made", () => {
  const appetite = new ClaimAppetite(5_000);
  const reply = { isFull: false, isHeldBack: true, nextDueMs: null, wakesBefore: 0 };
  appetite.surveyed({ tookMs: 1, firstDueMs: 0, wakesBefore: 0 }, 0);
  appetite.fed(reply, 1_000);
  expect(appetite.isHeldBack).toBe(true);
  expect(appetite.isHungry(1_000)).toBe(false);
  expect(appetite.restMs(1_000)).toBeLessThanOrEqual(313);
  expect(appetite.isHungry(1_313)).toBe(true);
  appetite.fed(reply, 2_000);
  appetite.madeRoom();
  expect(appetite.isHungry(2_000)).toBe(true);
  appetite.fed({ ...reply, isHeldBack: false }, 2_001);
  expect(appetite.isHeldBack).toBe(false);
  appetite.madeRoom();
  expect(appetite.isHungry(2_001)).toBe(false);
});
