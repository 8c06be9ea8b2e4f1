import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { WakeSignal } from "./wake-signal.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watch(waiting: Promise<void>) {
  const seen = { isOver: false };
  void waiting.then(() => (seen.isOver = true));
  return seen;
}

describe("WakeSignal", () => {
  test("ends a wait on a ring and clears its timer", async () => {
    const wakeSignal = new WakeSignal();
    const waiting = wakeSignal.wait(1_000);
    wakeSignal.wake();
    await waiting;
    expect(vi.getTimerCount()).toBe(0);
  });

  test("keeps a ring without a waiter for the next wait, once", async () => {
    const wakeSignal = new WakeSignal();
    wakeSignal.wake();
    wakeSignal.wake();
    await wakeSignal.wait(Infinity);
    const second = watch(wakeSignal.wait(Infinity));
    await vi.advanceTimersByTimeAsync(1_000_000);
    expect(second.isOver).toBe(false);
  });

  test("ends a wait after its time without a ring", async () => {
    const waiting = watch(new WakeSignal().wait(50));
    await vi.advanceTimersByTimeAsync(49);
    expect(waiting.isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(waiting.isOver).toBe(true);
  });

  test("does not wait for 0 ms", async () => {
    await new WakeSignal().wait(0);
    await new WakeSignal().wait(-5);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("wakes once a day during a wait of years, since a timer holds at most 24 days", async () => {
    const waiting = watch(new WakeSignal().wait(5 * 365 * 24 * 60 * 60 * 1000));
    await vi.advanceTimersByTimeAsync(24 * 60 * 60 * 1000 - 1);
    expect(waiting.isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(waiting.isOver).toBe(true);
  });
});
