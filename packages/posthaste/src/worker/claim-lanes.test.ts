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
    (now) => lanes.list(lanes.look(true, now).looksBack)[0]?.mark,
  );
  expect(marks).toEqual([8_500, 8_995, 8_995, 8_500, 8_995]);
  expect(lanes.list(lanes.look(false, 1_061).looksBack)[0]?.mark).toBe(8_500);
});

test("while there is more work than slots, claims are hasty but for one in 250 ms", () => {
  const lanes = new ClaimLanes(ranks({ a: 100 }));
  const hasty = [1_000, 1_050, 1_249, 1_250, 1_300].map((now) => lanes.look(true, now).isHasty);
  expect(hasty).toEqual([false, true, true, false, true]);
  expect(lanes.look(false, 1_301)).toEqual({ looksBack: true, isHasty: false });
});

test("after a survey, and after something was passed over, the next claim looks at everything", () => {
  const lanes = new ClaimLanes(ranks({ a: 100 }));
  const isHasty = (now: number) => lanes.look(true, now).isHasty;
  expect([isHasty(1_000), isHasty(1_001)]).toEqual([false, true]);
  lanes.correct([], 1_002);
  expect([isHasty(1_003), isHasty(1_004)]).toEqual([false, true]);
  lanes.lookCloselyNext();
  expect(lanes.look(true, 1_005)).toEqual({ looksBack: true, isHasty: false });
  expect(isHasty(1_006)).toBe(true);
});
