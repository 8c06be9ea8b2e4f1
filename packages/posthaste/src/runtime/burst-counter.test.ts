import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BurstCounter } from "./burst-counter.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("BurstCounter", () => {
  test("passes ten of a kind, counts the rest until the window ends, then starts again", () => {
    const counts: [number, number][] = [];
    const burst = new BurstCounter<number>((last, count) => counts.push([last, count]));
    const passed = Array.from({ length: 5_000 }, (_, n) => burst.passes("a", n)).filter(Boolean);
    expect([passed.length, counts]).toEqual([10, []]);
    vi.advanceTimersByTime(10_000);
    expect(counts).toEqual([[4_999, 4_990]]);
    expect(burst.passes("a", 1)).toBe(true);
  });

  test("counts each kind by itself, and only the kinds that overflowed", () => {
    const counts: [number, number][] = [];
    const burst = new BurstCounter<number>((last, count) => counts.push([last, count]));
    for (let n = 0; n < 11; n++) burst.passes("a", n);
    expect(burst.passes("b", 0)).toBe(true);
    vi.advanceTimersByTime(10_000);
    expect(counts).toEqual([[10, 1]]);
  });

  test("reports the counts so far on a flush, once", () => {
    const counts: [number, number][] = [];
    const burst = new BurstCounter<number>((last, count) => counts.push([last, count]));
    for (let n = 0; n < 12; n++) burst.passes("a", n);
    burst.flush();
    vi.advanceTimersByTime(10_000);
    expect(counts).toEqual([[11, 2]]);
  });
});
