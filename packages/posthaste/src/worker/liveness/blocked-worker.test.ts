import { describe, expect, test } from "vitest";
import { BlockedWorker } from "./blocked-worker.ts";

const task = { id: "a", name: "spin", isResilient: false };

function blockedFor(blockedMs: number) {
  const loop = { blockedMs };
  const limits = { runningStaleThresholdMs: 1_000, resilientMultiplier: 3 };
  return { loop, blocked: new BlockedWorker(limits, loop) };
}

describe("BlockedWorker", () => {
  test("has the stale threshold of running tasks as its limit, also while they are unknown", () => {
    const { loop, blocked } = blockedFor(1_000);
    expect(blocked.isPastLimit).toBe(false);
    loop.blockedMs = 1_001;
    expect(blocked.isPastLimit).toBe(true);
    expect(blocked.tasks).toEqual([]);
  });

  test("waits as long as its one resilient task allows", () => {
    const { loop, blocked } = blockedFor(2_000);
    blocked.runs([task, { ...task, isResilient: true }]);
    expect(blocked.limitMs).toBe(3_000);
    expect(blocked.isPastLimit).toBe(false);
    loop.blockedMs = 3_001;
    expect(blocked.isPastLimit).toBe(true);
  });

  test("asks for the tasks once in a block, after half of the threshold", () => {
    const { loop, blocked } = blockedFor(500);
    expect(blocked.needsTasks).toBe(false);
    loop.blockedMs = 501;
    expect(blocked.needsTasks).toBe(true);
    blocked.runs([task]);
    expect(blocked.needsTasks).toBe(false);
    loop.blockedMs = 0; // it turned: another block is about other tasks
    expect(blocked.needsTasks).toBe(false);
    expect(blocked.tasks).toEqual([]);
    loop.blockedMs = 600;
    expect(blocked.needsTasks).toBe(true);
  });
});
