import { expect, test } from "vitest";
import { LoopWatch } from "./loop-watch.ts";

/** Looks every 250 ms; `turns` says what is seen each time. */
function watched(turns: readonly number[]): LoopWatch {
  const loop = new LoopWatch();
  for (const [n, turn] of turns.entries()) loop.look(turn, 1_000 + n * LoopWatch.everyMs);
  return loop;
}

test("a loop that turns between any two looks is not blocked", () => {
  expect(watched([1, 2, 4, 5]).blockedMs).toBe(0);
});

test("a loop that stands still is blocked for as long as it has been looked at", () => {
  expect(watched([1, 2, 2, 2, 2]).blockedMs).toBe(750);
});

test("when it turns again, it is said how long it stood, and the worst is remembered once", () => {
  const loop = watched([1, 1, 1]);
  expect(loop.look(2, 2_000)).toBe(500);
  expect(loop.blockedMs).toBe(0);
  expect(loop.look(3, 2_250)).toBeUndefined();
  expect(loop.takeWorst()).toBe(500);
  expect(loop.takeWorst()).toBe(0);
});

test("a process that was frozen for a minute has not blocked its loop for a minute", () => {
  const loop = watched([1, 2]);
  loop.look(2, 61_250);
  expect(loop.blockedMs).toBe(2 * LoopWatch.everyMs);
});
