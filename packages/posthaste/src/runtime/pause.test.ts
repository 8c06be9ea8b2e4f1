import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { nextTurn, pause } from "./pause.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

describe("pause", () => {
  test("waits for its time and removes its listener from the signal", async () => {
    const { signal } = new AbortController();
    const removed = vi.spyOn(signal, "removeEventListener");
    const waiting = pause(100, signal);
    await vi.advanceTimersByTimeAsync(100);
    await waiting;
    expect(removed).toHaveBeenCalledOnce();
  });

  test("ends early on an abort without rejecting, and clears its timer", async () => {
    const controller = new AbortController();
    const waiting = pause(100_000, controller.signal);
    controller.abort(new Error("stop"));
    await waiting;
    expect(vi.getTimerCount()).toBe(0);
  });

  test("does not wait on a signal that has aborted", async () => {
    await pause(100_000, AbortSignal.abort());
    expect(vi.getTimerCount()).toBe(0);
  });

  test("nextTurn resolves after all work of this turn", async () => {
    const order: string[] = [];
    const turn = nextTurn().then(() => order.push("turn"));
    process.nextTick(() => order.push("tick"));
    void Promise.resolve().then(() => order.push("microtask"));
    await turn;
    expect(order.at(-1)).toBe("turn");
  });
});
