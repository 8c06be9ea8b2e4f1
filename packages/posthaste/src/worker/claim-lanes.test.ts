import { expect, test } from "vitest";
import { ClaimLanes } from "./claim-lanes.ts";

const ranks = (of: Record<string, number>) => new Map(Object.entries(of));

const order = (lanes: ClaimLanes) =>
  lanes.list(true).map(({ queue, priority }) => `${queue}:${priority}`);

test("lanes come in the order of the queues, in each from the most urgent on", () => {
  const lanes = new ClaimLanes(ranks({ urgent: 1, bulk: 100 }));
  lanes.hint("bulk", { priority: 1, due: 0 }, 0);
  lanes.hint("urgent", { priority: 100, due: 0 }, 0);
  lanes.hint("urgent", { priority: 7, due: 0 }, 0);
  expect(order(lanes)).toEqual(["urgent:7", "urgent:100", "bulk:1"]);
});

test("queues of one rank are emptied together, by priority", () => {
  const lanes = new ClaimLanes(ranks({ a: 100, b: 100 }));
  lanes.hint("a", { priority: 50, due: 0 }, 0);
  lanes.hint("b", { priority: 1, due: 0 }, 0);
  lanes.hint("a", { priority: 2, due: 0 }, 0);
  expect(order(lanes)).toEqual(["b:1", "a:2", "a:50"]);
});

test("a word about a queue that is not served is not heard", () => {
  const lanes = new ClaimLanes(ranks({ a: 100 }));
  lanes.hint("b", { priority: 1, due: 0 }, 0);
  expect(lanes.isEmpty).toBe(true);
});

test("a new lane begins at the beginning of time", () => {
  const lanes = new ClaimLanes(ranks({ a: 100 }));
  lanes.hint("a", { priority: 1, due: 0 }, 0);
  expect(lanes.list(true)).toMatchObject([{ queue: "a", priority: 1, mark: -Infinity }]);
});

test("what was claimed moves its own lane's mark, and half a second is left for late commits", () => {
  const lanes = new ClaimLanes(ranks({ a: 100 }));
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

test("what went back to its old place is looked for from the beginning", () => {
  const lanes = new ClaimLanes(ranks({ a: 100 }));
  lanes.advance([{ queue: "a", priority: 1, enqueuedAt: 9_000 }], 0);
  lanes.hint("a", { priority: 1, due: 300 }, 0);
  expect(lanes.list(true)[0]?.mark).toBe(8_500);
  lanes.hint("a", { priority: 1, due: "back" }, 0);
  expect(lanes.list(true)[0]?.mark).toBe(-Infinity);
});

test("a survey lowers marks and never raises them", () => {
  const lanes = new ClaimLanes(ranks({ a: 100 }));
  lanes.advance([{ queue: "a", priority: 1, enqueuedAt: 9_000 }], 0);
  const found = { queue: "a", priority: 1, dueMs: 0 };
  lanes.correct([{ ...found, firstEnqueuedAt: 20_000 }], 1);
  expect(lanes.list(true)[0]?.mark).toBe(8_500);
  lanes.correct([{ ...found, firstEnqueuedAt: 4_000 }], 2);
  expect(lanes.list(true)[0]?.mark).toBe(3_500);
});

test("a lane in which nothing was seen for a minute is forgotten, and found again by a survey", () => {
  const lanes = new ClaimLanes(ranks({ a: 100 }));
  lanes.hint("a", { priority: 1, due: 0 }, 0);
  lanes.correct([], 59_999);
  expect(lanes.isEmpty).toBe(false);
  lanes.correct([], 60_000);
  expect(lanes.isEmpty).toBe(true);
  lanes.correct([{ queue: "a", priority: 1, firstEnqueuedAt: 5, dueMs: 0 }], 61_000);
  expect(order(lanes)).toEqual(["a:1"]);
});

test("while there is more work than slots, a claim looks back for late commits once in 50 ms", () => {
  const lanes = new ClaimLanes(ranks({ a: 100 }));
  lanes.advance([{ queue: "a", priority: 1, enqueuedAt: 9_000 }], 0);
  const marks = [1_000, 1_010, 1_049, 1_050, 1_060].map(
    (now) => lanes.list(lanes.looksBack(true, now))[0]?.mark,
  );
  expect(marks).toEqual([8_500, 8_995, 8_995, 8_500, 8_995]);
  expect(lanes.list(lanes.looksBack(false, 1_061))[0]?.mark).toBe(8_500);
});

test("after a survey the next claim looks back", () => {
  const lanes = new ClaimLanes(ranks({ a: 100 }));
  const looksBack = (now: number) => lanes.looksBack(true, now);
  expect([looksBack(1_000), looksBack(1_001)]).toEqual([true, false]);
  lanes.correct([], 1_002);
  expect([looksBack(1_003), looksBack(1_004)]).toEqual([true, false]);
});
