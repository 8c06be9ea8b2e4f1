import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { OutgoingTask } from "../engine/compose-task.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import type { ClaimDesk } from "./claim-desk.ts";
import { HeldTasks } from "./held-tasks.ts";
import { SlotKeeper } from "./slot-keeper.ts";
import type { WorkLoopOptions } from "./work-loop-options.ts";
import type { UnknownNames } from "./unknown-names.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate"] }));
afterEach(() => void vi.useRealTimers());

const id = (n: number): string => `01900000-0000-7000-8000-00000000000${n}`;

function outgoing(n: number, given: Partial<OutgoingTask> = {}): OutgoingTask {
  return {
    id: id(n),
    name: "note",
    queue: "default",
    priority: 100,
    dueMs: 0,
    key: undefined,
    mayExist: false,
    mayStartHere: true,
    input: `"${n}"`,
    options: null,
    flags: null,
    goodUntil: null,
    dueText: "",
    inputBytes: 1,
    ...given,
  };
}

/** A keeper of three slots, and what it did. */
function setUp(given: { isFree?: boolean; isSated?: boolean; lanes?: number } = {}) {
  const { isFree = true, isSated = true, lanes = 1 } = given;
  const held = new HeldTasks();
  const ran: ClaimedTask[] = [];
  const returned: boolean[] = [];
  const lane = { queue: "default", priority: 100, mark: 0 };
  const desk = {
    isSated: () => isSated,
    takesFreely: (queue: string) => queue === "default",
    lanesWith: () => Array.from({ length: lanes }, () => ({ ...lane })),
  } as unknown as ClaimDesk;
  const loop = {
    plan: { concurrency: 3, maxClaimPerWorker: 3, queueRanks: new Map([["default", 100]]) },
    config: { prefetchBuffer: 0 },
    registry: new Map([["note", {}]]),
    services: { workerId: "a worker" },
  } as unknown as WorkLoopOptions;
  const keeper = new SlotKeeper({
    loop,
    held,
    desk,
    unknown: { putBack: (tasks: ClaimedTask[]) => tasks } as UnknownNames,
    isFree: () => isFree,
    isDraining: () => false,
    run: (task) => ran.push(task),
    onReturned: (isUnclear) => returned.push(isUnclear),
  });
  return { keeper, held, ran, returned };
}

test("as many tasks get a slot as there are, the most urgent first", () => {
  const { keeper, held } = setUp();
  const tasks = [1, 2, 3, 4].map((n) => outgoing(n, { priority: 10 - n }));
  const kept = keeper.keepSlots(tasks);
  expect([...(kept?.tasks ?? [])].map((task) => task.id)).toEqual([id(4), id(3), id(2)]);
  expect(held.busyCount).toBe(3);
  expect(keeper.keepSlots([outgoing(5)])).toBeUndefined();
});

test.each([
  ["the worker starts nothing", { isFree: false }, {}],
  ["there is work that it knows of", { isSated: false }, {}],
  ["there are more lanes than a send should look into", { lanes: 17 }, {}],
  ["the task must wait", {}, { mayStartHere: false }],
  ["the worker does not know the task", {}, { name: "another" }],
  ["the worker does not serve the queue, or only so many of it", {}, { queue: "another" }],
])("no slot where %s", (_, worker, task) => {
  const { keeper, held } = setUp(worker);
  expect(keeper.keepSlots([outgoing(1, task)])).toBeUndefined();
  expect(held.isEmpty).toBe(true);
});

test("while it is being stored, its claim is known and its worker has not nothing to do", () => {
  const { keeper, held, ran } = setUp();
  const kept = keeper.keepSlots([outgoing(1)]);
  const claimId = `${kept?.claims.claimSeed.slice(0, 18)}${id(1).slice(18)}`;
  expect(held.seeds.isUnderWay({ id: id(1), claimId })).toBe(true);
  expect(held.isEmpty).toBe(false);
  kept?.start([id(1)], 1_234);
  expect(held.seeds.isUnderWay({ id: id(1), claimId })).toBe(true); // until the very turn in which it runs
  vi.runAllTimers();
  expect(held.seeds.isUnderWay({ id: id(1), claimId })).toBe(false);
  expect(ran).toMatchObject([
    { id: id(1), claimId, enqueuedAt: 1_234, attemptNo: 1, input: '"1"' },
  ]);
});

test("what stands in line after all gives its slot back", () => {
  const { keeper, held, ran, returned } = setUp();
  keeper.keepSlots([outgoing(1), outgoing(2)])?.start([id(2)], 0);
  vi.runAllTimers();
  expect(ran.map((task) => task.id)).toEqual([id(2)]);
  expect(returned).toEqual([false]);
  expect(held.busyCount).toBe(0);
});

test("no answer for two seconds: the slot is free, and what is stored is looked for; an answer after that starts nothing", () => {
  const { keeper, held, ran, returned } = setUp();
  const kept = keeper.keepSlots([outgoing(1)]);
  vi.advanceTimersByTime(1_999);
  expect(held.busyCount).toBe(1);
  vi.advanceTimersByTime(1);
  expect(held.busyCount).toBe(0);
  expect(returned).toEqual([true]);
  kept?.start([id(1)], 0);
  vi.runAllTimers();
  expect(ran).toEqual([]);
  expect(returned).toEqual([true, true]);
});

test("a send that failed gives its slots back, once and for all", () => {
  const { keeper, held, returned } = setUp();
  const kept = keeper.keepSlots([outgoing(1)]);
  kept?.letGo();
  vi.runAllTimers();
  expect(held.busyCount).toBe(0);
  expect(returned).toEqual([true]);
});
