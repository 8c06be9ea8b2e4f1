import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Throttle } from "./throttle.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

test("the first ask is heard at once, further ones together at the end of the pause", () => {
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

test("stopped, it leaves no timer behind", () => {
  let runs = 0;
  const throttle = new Throttle(100, () => runs++);
  throttle.ask();
  throttle.ask();
  throttle.stop();
  vi.advanceTimersByTime(1_000);
  expect({ runs, timers: vi.getTimerCount() }).toEqual({ runs: 1, timers: 0 });
});
