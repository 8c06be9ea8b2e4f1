import { describe, expect, test } from "vitest";
import { dueAt, dueSlots, type FiringRules } from "./due-slots.ts";

const MINUTE = 60_000;
const minutely: FiringRules = {
  name: "minutely",
  pattern: { kind: "every", ms: MINUTE },
  timezone: "UTC",
  startAt: null,
  endAt: null,
  jitterMs: 0,
  missed: "skip",
  maxMissed: 100,
};

describe("dueSlots", () => {
  test("fires nothing before the slot", () => {
    expect(dueSlots(minutely, 5 * MINUTE, 5 * MINUTE - 1)).toEqual({
      fire: [],
      missed: undefined,
      next: 5 * MINUTE,
    });
  });

  test("fires a slot that is a little late", () => {
    expect(dueSlots(minutely, 5 * MINUTE, 5 * MINUTE + 30_000)).toEqual({
      fire: [5 * MINUTE],
      missed: undefined,
      next: 6 * MINUTE,
    });
  });

  const outage = 20 * MINUTE + 10_000;

  test("skip: fires only the present slot after an outage", () => {
    expect(dueSlots(minutely, 5 * MINUTE, outage)).toEqual({
      fire: [20 * MINUTE],
      missed: { from: 5 * MINUTE, to: 19 * MINUTE },
      next: 21 * MINUTE,
    });
  });

  test("skip: does not fire a slot that is late by more than a minute", () => {
    const hourly: FiringRules = { ...minutely, pattern: { kind: "every", ms: 60 * MINUTE } };
    expect(dueSlots(hourly, 60 * MINUTE, 61 * MINUTE + 1)).toEqual({
      fire: [],
      missed: { from: 60 * MINUTE, to: 60 * MINUTE },
      next: 120 * MINUTE,
    });
  });

  test("latest: fires the last one however late", () => {
    const hourly: FiringRules = {
      ...minutely,
      pattern: { kind: "every", ms: 60 * MINUTE },
      missed: "latest",
    };
    expect(dueSlots(hourly, 60 * MINUTE, 179 * MINUTE)).toEqual({
      fire: [120 * MINUTE],
      missed: { from: 60 * MINUTE, to: 60 * MINUTE },
      next: 180 * MINUTE,
    });
  });

  test("all: fires the newest maxMissed, oldest first", () => {
    const all: FiringRules = { ...minutely, missed: "all", maxMissed: 3 };
    expect(dueSlots(all, 5 * MINUTE, outage)).toEqual({
      fire: [18 * MINUTE, 19 * MINUTE, 20 * MINUTE],
      missed: { from: 5 * MINUTE, to: 17 * MINUTE },
      next: 21 * MINUTE,
    });
  });

  test("all: fires at most a hundred at once and comes back for the others", () => {
    const all: FiringRules = { ...minutely, missed: "all", maxMissed: 10_000 };
    const first = dueSlots(all, MINUTE, 250 * MINUTE);
    expect(first.fire).toHaveLength(100);
    expect(first.next).toBe(101 * MINUTE);
    expect(dueSlots(all, 201 * MINUTE, 250 * MINUTE).fire).toHaveLength(50);
  });

  test("finds the newest slots after a year of seconds without walking the year", () => {
    const each: FiringRules = { ...minutely, pattern: { kind: "every", ms: 1_000 } };
    const year = 365 * 24 * 3_600_000;
    const startedAt = performance.now();
    expect(dueSlots(each, 0, year).fire).toEqual([year]);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });

  test("takes the stored slot although the pattern does not name it", () => {
    expect(dueSlots(minutely, 5 * MINUTE + 7, 5 * MINUTE + 7)).toMatchObject({
      fire: [5 * MINUTE + 7],
      next: 6 * MINUTE,
    });
  });

  test("has no next slot after endAt", () => {
    const ending: FiringRules = { ...minutely, endAt: 5 * MINUTE };
    expect(dueSlots(ending, 5 * MINUTE, 5 * MINUTE)).toMatchObject({
      fire: [5 * MINUTE],
      next: undefined,
    });
  });
});

describe("dueAt", () => {
  test("spreads slots over the jitter, always the same way", () => {
    const rules = { name: "a", jitterMs: 10_000 };
    const delays = Array.from({ length: 1_000 }, (_, n) => dueAt(rules, n * 1_000) - n * 1_000);
    expect(Math.min(...delays)).toBeLessThan(500);
    expect(Math.max(...delays)).toBeGreaterThan(9_500);
    expect(Math.max(...delays)).toBeLessThanOrEqual(10_000);
    expect(new Set(delays).size).toBeGreaterThan(900);
    expect(dueAt(rules, 5_000)).toBe(dueAt(rules, 5_000));
    expect(dueAt({ ...rules, name: "b" }, 5_000)).not.toBe(dueAt(rules, 5_000));
  });
});
