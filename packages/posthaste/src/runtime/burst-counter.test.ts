import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BurstCounter } from "./burst-counter.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("ten of a kind pass, the rest are counted until the window ends, and the next window begins anew", () => {
  const counts: [number, number][] = [];
  const burst = new BurstCounter<number>((last, count) => counts.push([last, count]));
  const passed = Array.from({ length: 5_000 }, (_, n) => burst.passes("a", n)).filter(Boolean);
  expect([passed.length, counts]).toEqual([10, []]);
  vi.advanceTimersByTime(10_000);
  expect(counts).toEqual([[4_999, 4_990]]);
  expect(burst.passes("a", 1)).toBe(true);
});

test("kinds do not know each other, and what did not overflow is not counted", () => {
  const counts: [number, number][] = [];
  const burst = new BurstCounter<number>((last, count) => counts.push([last, count]));
  for (let n = 0; n < 11; n++) burst.passes("a", n);
  expect(burst.passes("b", 0)).toBe(true);
  vi.advanceTimersByTime(10_000);
  expect(counts).toEqual([[10, 1]]);
});

test("a flush says what was counted so far, once", () => {
  const counts: [number, number][] = [];
  const burst = new BurstCounter<number>((last, count) => counts.push([last, count]));
  for (let n = 0; n < 12; n++) burst.passes("a", n);
  burst.flush();
  vi.advanceTimersByTime(10_000);
  expect(counts).toEqual([[11, 2]]);
});
