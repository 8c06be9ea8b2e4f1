import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Bell } from "./bell.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watch(waiting: Promise<void>) {
  const seen = { isOver: false };
  void waiting.then(() => (seen.isOver = true));
  return seen;
}

test("a ring wakes who waits, and takes the timer with it", async () => {
  const bell = new Bell();
  const waiting = bell.wait(1_000);
  bell.ring();
  await waiting;
  expect(vi.getTimerCount()).toBe(0);
});

test("a ring while nobody waits is not lost, and counts once", async () => {
  const bell = new Bell();
  bell.ring();
  bell.ring();
  await bell.wait(Infinity);
  const second = watch(bell.wait(Infinity));
  await vi.advanceTimersByTimeAsync(1_000_000);
  expect(second.isOver).toBe(false);
});

test("without a ring the time passes", async () => {
  const waiting = watch(new Bell().wait(50));
  await vi.advanceTimersByTimeAsync(49);
  expect(waiting.isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(waiting.isOver).toBe(true);
});

test("no time is no wait", async () => {
  await new Bell().wait(0);
  await new Bell().wait(-5);
  expect(vi.getTimerCount()).toBe(0);
});

test("a wait of years wakes once a day instead of at once, as a timer beyond 24 days would", async () => {
  const waiting = watch(new Bell().wait(5 * 365 * 24 * 60 * 60 * 1000));
  await vi.advanceTimersByTimeAsync(24 * 60 * 60 * 1000 - 1);
  expect(waiting.isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(waiting.isOver).toBe(true);
});
