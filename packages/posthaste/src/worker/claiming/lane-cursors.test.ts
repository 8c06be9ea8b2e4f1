import { describe, expect, test } from "vitest";
import { LaneCursors } from "./lane-cursors.ts";

const ranks = (of: Record<string, number>) => new Map(Object.entries(of));

const order = (lanes: LaneCursors) =>
  lanes.list(true).map(({ queue, priority }) => `${queue}:${priority}`);

describe("LaneCursors", () => {
  test("orders lanes by queue, then by priority", () => {
    const lanes = new LaneCursors(ranks({ urgent: 1, bulk: 100 }));
    lanes.hint("bulk", { priority: 1, due: 0 }, 0);
    lanes.hint("urgent", { priority: 100, due: 0 }, 0);
    lanes.hint("urgent", { priority: 7, due: 0 }, 0);
    expect(order(lanes)).toEqual(["urgent:7", "urgent:100", "bulk:1"]);
  });

  test("merges queues of one rank by priority", () => {
    const lanes = new LaneCursors(ranks({ a: 100, b: 100 }));
    lanes.hint("a", { priority: 50, due: 0 }, 0);
    lanes.hint("b", { priority: 1, due: 0 }, 0);
    lanes.hint("a", { priority: 2, due: 0 }, 0);
    expect(order(lanes)).toEqual(["b:1", "a:2", "a:50"]);
  });

  test("ignores a hint for a queue that is not served", () => {
    const lanes = new LaneCursors(ranks({ a: 100 }));
    lanes.hint("b", { priority: 1, due: 0 }, 0);
    expect(lanes.isEmpty).toBe(true);
  });

  test("starts the mark of a new lane at the beginning of time", () => {
    const lanes = new LaneCursors(ranks({ a: 100 }));
    lanes.hint("a", { priority: 1, due: 0 }, 0);
    expect(lanes.list(true)).toMatchObject([{ queue: "a", priority: 1, mark: -Infinity }]);
  });

  test("moves the mark of a claimed task's lane, less half a second for late commits", () => {
    const lanes = new LaneCursors(ranks({ a: 100 }));
    lanes.advance(
      [
        { queue: "a", priority: 1, enqueuedAt: 9_000 },
        { queue: "a", priority: 1, enqueuedAt: 7_000 },
        { queue: "a", priority: 2, enqueuedAt: 3_000 },
      ],
      0,
    );
    expect(lanes.list(true).map(({ mark }) => mark)).toEqual([8_500, 2_500]);
  });

  test("resets the mark when a task returns to its old place", () => {
    const lanes = new LaneCursors(ranks({ a: 100 }));
    lanes.advance([{ queue: "a", priority: 1, enqueuedAt: 9_000 }], 0);
    lanes.hint("a", { priority: 1, due: 300 }, 0);
    expect(lanes.list(true)[0]?.mark).toBe(8_500);
    lanes.hint("a", { priority: 1, due: "back" }, 0);
    expect(lanes.list(true)[0]?.mark).toBe(-Infinity);
  });

  test("lowers marks after a survey and never raises them", () => {
    const lanes = new LaneCursors(ranks({ a: 100 }));
    lanes.advance([{ queue: "a", priority: 1, enqueuedAt: 9_000 }], 0);
    const found = { queue: "a", priority: 1, dueMs: 0 };
    lanes.correct([{ ...found, firstEnqueuedAt: 20_000 }], 1);
    expect(lanes.list(true)[0]?.mark).toBe(8_500);
    lanes.correct([{ ...found, firstEnqueuedAt: 4_000 }], 2);
    expect(lanes.list(true)[0]?.mark).toBe(3_500);
  });

  test("forgets a lane after a minute without tasks, until a survey finds it again", () => {
    const lanes = new LaneCursors(ranks({ a: 100 }));
    lanes.hint("a", { priority: 1, due: 0 }, 0);
    lanes.correct([], 59_999);
    expect(lanes.isEmpty).toBe(false);
    lanes.correct([], 60_000);
    expect(lanes.isEmpty).toBe(true);
    lanes.correct([{ queue: "a", priority: 1, firstEnqueuedAt: 5, dueMs: 0 }], 61_000);
    expect(order(lanes)).toEqual(["a:1"]);
  });

  test("looks back for late commits once in 50 ms while backlogged", () => {
    const lanes = new LaneCursors(ranks({ a: 100 }));
    lanes.advance([{ queue: "a", priority: 1, enqueuedAt: 9_000 }], 0);
    const marks = [1_000, 1_010, 1_049, 1_050, 1_060].map(
      (now) => lanes.list(lanes.looksBack(true, now))[0]?.mark,
    );
    expect(marks).toEqual([8_500, 8_995, 8_995, 8_500, 8_995]);
    expect(lanes.list(lanes.looksBack(false, 1_061))[0]?.mark).toBe(8_500);
  });

  test("looks back in the first claim after a survey", () => {
    const lanes = new LaneCursors(ranks({ a: 100 }));
    const looksBack = (now: number) => lanes.looksBack(true, now);
    expect([looksBack(1_000), looksBack(1_001)]).toEqual([true, false]);
    lanes.correct([], 1_002);
    expect([looksBack(1_003), looksBack(1_004)]).toEqual([true, false]);
  });
});
