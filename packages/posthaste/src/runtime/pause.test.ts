import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { nextTurn, pause } from "./pause.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

test("the time passes, and nothing is left on the signal", async () => {
  const { signal } = new AbortController();
  const removed = vi.spyOn(signal, "removeEventListener");
  const waiting = pause(100, signal);
  await vi.advanceTimersByTimeAsync(100);
  await waiting;
  expect(removed).toHaveBeenCalledOnce();
});

test("an abort ends it early without rejecting, and takes the timer with it", async () => {
  const controller = new AbortController();
  const waiting = pause(100_000, controller.signal);
  controller.abort(new Error("stop"));
  await waiting;
  expect(vi.getTimerCount()).toBe(0);
});

test("a signal that has aborted leaves nothing to wait for", async () => {
  await pause(100_000, AbortSignal.abort());
  expect(vi.getTimerCount()).toBe(0);
});

test("the next turn comes after everything that this one still has to do", async () => {
  const order: string[] = [];
  const turn = nextTurn().then(() => order.push("turn"));
  process.nextTick(() => order.push("tick"));
  void Promise.resolve().then(() => order.push("microtask"));
  await turn;
  expect(order.at(-1)).toBe("turn");
});
