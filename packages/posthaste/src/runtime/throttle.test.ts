import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Throttle } from "./throttle.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

describe("Throttle", () => {
  test("calls at once for the first request, and once for all others at the end of the pause", () => {
    let runs = 0;
    const throttle = new Throttle(100, () => runs++);
    throttle.ask();
    expect(runs).toBe(1);
    throttle.ask();
    throttle.ask();
    vi.advanceTimersByTime(99);
    expect(runs).toBe(1);
    vi.advanceTimersByTime(1);
    expect(runs).toBe(2);
    vi.advanceTimersByTime(1_000);
    expect(runs).toBe(2);
    throttle.ask();
    expect(runs).toBe(3);
  });

  test("leaves no timer when stopped", () => {
    let runs = 0;
    const throttle = new Throttle(100, () => runs++);
    throttle.ask();
    throttle.ask();
    throttle.stop();
    vi.advanceTimersByTime(1_000);
    expect({ runs, timers: vi.getTimerCount() }).toEqual({ runs: 1, timers: 0 });
  });
});
