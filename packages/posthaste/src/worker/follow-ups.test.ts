import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { claimIdOf } from "../store/queries/claim-id.ts";
import type { ClaimedTask, ClaimReply } from "../store/queries/claim-tasks.ts";
import type { ClaimDesk } from "./claim-desk.ts";
import { FollowUps, leftInLine } from "./follow-ups.ts";
import { HeldTasks } from "./held-tasks.ts";
import type { WorkLoopOptions } from "./work-loop-options.ts";
import type { UnknownNames } from "./unknown-names.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const id = (n: number): string => `01900000-0000-7000-8000-00000000000${n}`;
const lane = { queue: "default", priority: 100, mark: 0 };

function claimed(n: number, given: Partial<ClaimedTask> = {}): ClaimedTask {
  const task = { id: id(n), claimId: `claim ${n}`, name: "note", queue: "default", priority: 100 };
  return {
    ...task,
    enqueuedAt: n,
    attemptNo: 1,
    retryCount: 0,
    input: "1",
    options: null,
    ...given,
  };
}

function reply(tasks: ClaimedTask[], isFull = false): ClaimReply {
  return { tasks, expired: [], nextDueMs: null, isFull, isHeldBack: false };
}

/** A worker with three slots, and what it did. */
function setUp(given: { isFree?: boolean; isSated?: boolean; lanes?: number; rules?: true } = {}) {
  const { isFree = true, isSated = true, lanes = 1 } = given;
  const held = new HeldTasks();
  const ran: string[] = [];
  const returned: boolean[] = [];
  const state = { isDraining: false };
  const desk = {
    isSated: () => isSated,
    requestBeside: (limit: number) =>
      given.rules ? undefined : { lanes: Array.from({ length: lanes }, () => lane), limit },
    fedBeside: vi.fn(),
  };
  const followUps = new FollowUps({
    loop: {
      plan: { concurrency: 3, maxClaimPerWorker: 3, queueRanks: new Map([["default", 100]]) },
      config: { prefetchBuffer: 0 },
    } as unknown as WorkLoopOptions,
    held,
    desk: desk as unknown as ClaimDesk,
    unknown: { putBack: (tasks: ClaimedTask[]) => tasks } as UnknownNames,
    isFree: () => isFree,
    isDraining: () => state.isDraining,
    run: (task) => ran.push(task.id),
    onReturned: (isUnclear) => returned.push(isUnclear),
  });
  return { followUps, held, desk, ran, returned, state };
}

test("a slot for each node that ends and one more, as far as there are any; they are kept meanwhile", () => {
  const { followUps, held } = setUp();
  expect(followUps.claimFor(1)?.request.limit).toBe(2);
  expect(held.busyCount).toBe(2);
  expect(followUps.claimFor(5)?.request.limit).toBe(1);
  expect(held.busyCount).toBe(3);
  expect(followUps.claimFor(1)).toBeUndefined();
  expect(held.isEmpty).toBe(false);
});

test.each([
  ["the worker starts nothing", { isFree: false }],
  ["there is work that it knows of", { isSated: false }],
  ["there are more lanes than a transaction should look into", { lanes: 17 }],
  ["rules go before the order of the line", { rules: true as const }],
])("nothing where %s", (_, worker) => {
  const { followUps, held } = setUp(worker);
  expect(followUps.claimFor(1)).toBeUndefined();
  expect(held.isEmpty).toBe(true);
});

test("what it brings runs in the order of the line, in the slots that were kept, and the desk hears of it", () => {
  const { followUps, held, desk, ran, returned } = setUp();
  const followUp = followUps.claimFor(1);
  const brought = reply([claimed(2), claimed(1)]);
  followUp?.taken(brought);
  expect(ran).toEqual([id(1), id(2)]);
  expect(desk.fedBeside).toHaveBeenCalledWith(brought);
  expect(held.busyCount).toBe(0);
  expect(returned).toEqual([false]);
});

test("a node whose deadline has passed ends without having run", () => {
  const { followUps, held, ran } = setUp();
  const node = { workflowId: id(9), workflow: "w", node: "n", input: null, isLate: true };
  followUps.claimFor(1)?.taken(reply([claimed(1, { node })]));
  expect(ran).toEqual([]);
  expect(held.nodeEnds.next(0)).toMatchObject([{ id: id(1), edge: "expire", ran: false }]);
});

test("while it is under way, what is stored under its seed is no stray; afterwards, it is", () => {
  const { followUps, held, returned } = setUp();
  const followUp = followUps.claimFor(1);
  const claimId = claimIdOf(followUp?.request.claimSeed ?? "", id(1));
  expect(held.seeds.isUnderWay({ id: id(1), claimId })).toBe(true);
  expect(held.seeds.isUnderWay({ id: id(1), claimId: id(2) })).toBe(false);
  followUp?.failed();
  expect(held.seeds.isUnderWay({ id: id(1), claimId })).toBe(false);
  expect(held.seeds.isUnanswered({ id: id(1), claimId })).toBe(true);
  expect(returned).toEqual([true]);
});

test("no answer for two seconds: the slots are free, its claims are still its own", () => {
  const { followUps, held, ran, returned } = setUp();
  const followUp = followUps.claimFor(1);
  const claimId = claimIdOf(followUp?.request.claimSeed ?? "", id(1));
  vi.advanceTimersByTime(1_999);
  expect(held.busyCount).toBe(2);
  vi.advanceTimersByTime(1);
  expect(held.busyCount).toBe(0);
  expect(returned).toEqual([false]);
  expect(held.seeds.isUnderWay({ id: id(1), claimId })).toBe(true);
  held.slots.reserve("claim", 2); // others have taken some of them meanwhile
  followUp?.taken(reply([claimed(1)]));
  expect(ran).toEqual([id(1)]);
});

test("where others have taken all slots meanwhile, it waits for one, stored as running", () => {
  const { followUps, held, ran } = setUp();
  const followUp = followUps.claimFor(1);
  vi.advanceTimersByTime(2_000);
  held.slots.reserve("claim", 3);
  followUp?.taken(reply([claimed(1)]));
  expect(ran).toEqual([]);
  expect(held.nextAhead(1)).toMatchObject([{ id: id(1), isStarted: true }]);
});

test("a worker that was told to stop meanwhile gives it back as if nobody had touched it", () => {
  const { followUps, held, ran, state } = setUp();
  const followUp = followUps.claimFor(1);
  state.isDraining = true;
  followUp?.taken(reply([claimed(1)]));
  expect(ran).toEqual([]);
  expect(held.plainEnds.next(0)).toMatchObject([{ id: id(1), edge: "release", ran: false }]);
});

test("others need not be told of lanes that it has emptied", () => {
  const woken = [
    ["default", 100],
    ["default", 1],
    ["elsewhere", 100],
  ] as const;
  const request = { lanes: [lane], limit: 2, workerId: "w", leaseMs: 1 };
  expect(leftInLine(woken, request, reply([claimed(1)]))).toEqual(woken.slice(1));
  expect(leftInLine(woken, request, reply([claimed(1), claimed(2)], true))).toEqual(woken);
});
