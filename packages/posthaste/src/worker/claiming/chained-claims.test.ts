import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { claimIdOf } from "../../store/queries/claim/claim-rows.ts";
import type { ClaimedTask, ClaimReply } from "../../store/queries/claim/claim-tasks.ts";
import type { ClaimRequester } from "./claim-requester.ts";
import { ChainedClaims, lanesLeft } from "./chained-claims.ts";
import { InFlightTasks } from "../slots/in-flight.ts";
import type { SideClaimOptions } from "./direct-start.ts";
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

/** A worker with three slots, and a record of its calls. */
function setUp(
  given: { isFree?: boolean; isCaughtUp?: boolean; lanes?: number; rules?: true } = {},
) {
  const { isFree = true, isCaughtUp = true, lanes = 1 } = given;
  const inFlight = new InFlightTasks();
  const ran: string[] = [];
  const returned: boolean[] = [];
  const state = { isDraining: false };
  const requester = {
    isCaughtUp: () => isCaughtUp,
    freeSlots: ({ busyCount }: InFlightTasks) => 3 - busyCount,
    requestBeside: (limit: number) =>
      given.rules ? undefined : { lanes: Array.from({ length: lanes }, () => lane), limit },
    onChainedReply: vi.fn(),
  };
  const chainedClaims = new ChainedClaims({
    ...({
      settings: { concurrency: 3, maxClaimPerWorker: 3, queueRanks: new Map([["default", 100]]) },
      config: { prefetchBuffer: 0 },
    } as unknown as SideClaimOptions),
    inFlight,
    requester: requester as unknown as ClaimRequester,
    unknown: { putBack: (tasks: ClaimedTask[]) => tasks } as UnknownNames,
    isFree: () => isFree,
    isDraining: () => state.isDraining,
    run: (task) => ran.push(task.id),
    onReturned: (isUnclear) => returned.push(isUnclear),
  });
  return { chainedClaims, inFlight, requester, ran, returned, state };
}

describe("ChainedClaims", () => {
  test("reserves a slot for each node that ends and one more, as far as slots are free", () => {
    const { chainedClaims, inFlight } = setUp();
    expect(chainedClaims.claimFor(1)?.request.limit).toBe(2);
    expect(inFlight.busyCount).toBe(2);
    expect(chainedClaims.claimFor(5)?.request.limit).toBe(1);
    expect(inFlight.busyCount).toBe(3);
    expect(chainedClaims.claimFor(1)).toBeUndefined();
    expect(inFlight.isEmpty).toBe(false);
  });

  test.each([
    ["the worker starts nothing", { isFree: false }],
    ["the worker knows of waiting work", { isCaughtUp: false }],
    ["the worker has more than 16 lanes", { lanes: 17 }],
    ["claim rules apply", { rules: true as const }],
  ])("claims nothing where %s", (_, worker) => {
    const { chainedClaims, inFlight } = setUp(worker);
    expect(chainedClaims.claimFor(1)).toBeUndefined();
    expect(inFlight.isEmpty).toBe(true);
  });

  test("runs its tasks in queue order in the reserved slots and reports the reply", () => {
    const { chainedClaims, inFlight, requester, ran, returned } = setUp();
    const chainedClaim = chainedClaims.claimFor(1);
    const brought = reply([claimed(2), claimed(1)]);
    chainedClaim?.taken(brought);
    expect(ran).toEqual([id(1), id(2)]);
    expect(requester.onChainedReply).toHaveBeenCalledWith(brought);
    expect(inFlight.busyCount).toBe(0);
    expect(returned).toEqual([false]);
  });

  test("ends a node past its deadline without an attempt", () => {
    const { chainedClaims, inFlight, ran } = setUp();
    const node = { workflowId: id(9), workflow: "w", node: "n", input: null, isLate: true };
    chainedClaims.claimFor(1)?.taken(reply([claimed(1, { node })]));
    expect(ran).toEqual([]);
    expect(inFlight.nodeEnds.next(0)).toMatchObject([{ id: id(1), edge: "expire", ran: false }]);
  });

  test("covers the claims of its seed until its reply; a failure leaves them unanswered", () => {
    const { chainedClaims, inFlight, returned } = setUp();
    const chainedClaim = chainedClaims.claimFor(1);
    const claimId = claimIdOf(chainedClaim?.request.claimSeed ?? "", id(1));
    expect(inFlight.seeds.isUnderWay({ id: id(1), claimId })).toBe(true);
    expect(inFlight.seeds.isUnderWay({ id: id(1), claimId: id(2) })).toBe(false);
    chainedClaim?.failed();
    expect(inFlight.seeds.isUnderWay({ id: id(1), claimId })).toBe(false);
    expect(inFlight.seeds.isUnanswered({ id: id(1), claimId })).toBe(true);
    expect(returned).toEqual([true]);
  });

  test("frees its slots after two seconds without an answer and keeps its claims", () => {
    const { chainedClaims, inFlight, ran, returned } = setUp();
    const chainedClaim = chainedClaims.claimFor(1);
    const claimId = claimIdOf(chainedClaim?.request.claimSeed ?? "", id(1));
    vi.advanceTimersByTime(1_999);
    expect(inFlight.busyCount).toBe(2);
    vi.advanceTimersByTime(1);
    expect(inFlight.busyCount).toBe(0);
    expect(returned).toEqual([false]);
    expect(inFlight.seeds.isUnderWay({ id: id(1), claimId })).toBe(true);
    inFlight.slots.reserve("claim", 2); // others have taken some of them meanwhile
    chainedClaim?.taken(reply([claimed(1)]));
    expect(ran).toEqual([id(1)]);
  });

  test("prefetches a task as RUNNING when a late reply finds no free slot", () => {
    const { chainedClaims, inFlight, ran } = setUp();
    const chainedClaim = chainedClaims.claimFor(1);
    vi.advanceTimersByTime(2_000);
    inFlight.slots.reserve("claim", 3);
    chainedClaim?.taken(reply([claimed(1)]));
    expect(ran).toEqual([]);
    expect(inFlight.nextPrefetched(1)).toMatchObject([{ id: id(1), isStoredRunning: true }]);
  });

  test("releases its tasks when the worker drains before the reply", () => {
    const { chainedClaims, inFlight, ran, state } = setUp();
    const chainedClaim = chainedClaims.claimFor(1);
    state.isDraining = true;
    chainedClaim?.taken(reply([claimed(1)]));
    expect(ran).toEqual([]);
    expect(inFlight.plainEnds.next(0)).toMatchObject([{ id: id(1), edge: "release", ran: false }]);
  });

  test("leaves emptied lanes out of the notifications", () => {
    const woken = [
      ["default", 100],
      ["default", 1],
      ["elsewhere", 100],
    ] as const;
    const request = { lanes: [lane], limit: 2, workerId: "w", leaseMs: 1 };
    expect(lanesLeft(woken, request, reply([claimed(1)]))).toEqual(woken.slice(1));
    expect(lanesLeft(woken, request, reply([claimed(1), claimed(2)], true))).toEqual(woken);
  });
});
