import { describe, expect, test } from "vitest";
import { LoopWatch } from "./loop-watch.ts";

/** Looks every 250 ms; `turns` says what is seen each time. */
function watched(turns: readonly number[]): LoopWatch {
  const loop = new LoopWatch();
  for (const [n, turn] of turns.entries()) loop.look(turn, 1_000 + n * LoopWatch.everyMs);
  return loop;
}

describe("LoopWatch", () => {
  test("reports no block when the loop turns between two looks", () => {
    expect(watched([1, 2, 4, 5]).blockedMs).toBe(0);
  });

  test("reports a block for as long as it has watched it", () => {
    expect(watched([1, 2, 2, 2, 2]).blockedMs).toBe(750);
  });

  test("reports the length of a block when the loop turns again, and the longest once", () => {
    const loop = watched([1, 1, 1]);
    expect(loop.look(2, 2_000)).toBe(500);
    expect(loop.blockedMs).toBe(0);
    expect(loop.look(3, 2_250)).toBeUndefined();
    expect(loop.takeWorst()).toBe(500);
    expect(loop.takeWorst()).toBe(0);
  });

  test("does not count a minute in which the process was frozen", () => {
    const loop = watched([1, 2]);
    loop.look(2, 61_250);
    expect(loop.blockedMs).toBe(2 * LoopWatch.everyMs);
  });
});
