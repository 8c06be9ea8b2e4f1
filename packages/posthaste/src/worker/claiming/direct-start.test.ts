import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { OutgoingTask } from "../../sending/compose-task.ts";
import type { ClaimedTask } from "../../store/queries/claim/claim-tasks.ts";
import type { ClaimRequester } from "./claim-requester.ts";
import { InFlightTasks } from "../slots/in-flight.ts";
import { DirectStart, type SideClaimOptions } from "./direct-start.ts";
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

/** A worker with three slots, and a record of its calls. */
function setUp(given: { isFree?: boolean; isCaughtUp?: boolean; lanes?: number } = {}) {
  const { isFree = true, isCaughtUp = true, lanes = 1 } = given;
  const inFlight = new InFlightTasks();
  const ran: ClaimedTask[] = [];
  const returned: boolean[] = [];
  const lane = { queue: "default", priority: 100, mark: 0 };
  const requester = {
    isCaughtUp: () => isCaughtUp,
    freeSlots: ({ busyCount }: InFlightTasks) => 3 - busyCount,
    takesFreely: (queue: string) => queue === "default",
    lanesWith: () => Array.from({ length: lanes }, () => ({ ...lane })),
  } as unknown as ClaimRequester;
  const worker = {
    settings: { concurrency: 3, maxClaimPerWorker: 3, queueRanks: new Map([["default", 100]]) },
    config: { prefetchBuffer: 0 },
    registry: new Map([["note", {}]]),
    workerId: "a worker",
  } as unknown as SideClaimOptions;
  const directStart = new DirectStart({
    ...worker,
    inFlight,
    requester,
    unknown: { putBack: (tasks: ClaimedTask[]) => tasks } as UnknownNames,
    isFree: () => isFree,
    isDraining: () => false,
    run: (task) => ran.push(task),
    onReturned: (isUnclear) => returned.push(isUnclear),
  });
  return { directStart, inFlight, ran, returned };
}

describe("DirectStart", () => {
  test("gives the free slots to the most urgent tasks", () => {
    const { directStart, inFlight } = setUp();
    const tasks = [1, 2, 3, 4].map((n) => outgoing(n, { priority: 10 - n }));
    const kept = directStart.reserveSlots(tasks);
    expect([...(kept?.tasks ?? [])].map((task) => task.id)).toEqual([id(4), id(3), id(2)]);
    expect(inFlight.busyCount).toBe(3);
    expect(directStart.reserveSlots([outgoing(5)])).toBeUndefined();
  });

  test.each([
    ["the worker starts nothing", { isFree: false }, {}],
    ["the worker knows of waiting work", { isCaughtUp: false }, {}],
    ["the worker has more than 16 lanes", { lanes: 17 }, {}],
    ["the task must wait", {}, { mayStartHere: false }],
    ["the worker does not know the task", {}, { name: "another" }],
    ["the worker does not serve the queue or caps it", {}, { queue: "another" }],
  ])("reserves no slot where %s", (_, worker, task) => {
    const { directStart, inFlight } = setUp(worker);
    expect(directStart.reserveSlots([outgoing(1, task)])).toBeUndefined();
    expect(inFlight.isEmpty).toBe(true);
  });

  test("knows the claim of a task that is being stored, and counts as busy meanwhile", () => {
    const { directStart, inFlight, ran } = setUp();
    const kept = directStart.reserveSlots([outgoing(1)]);
    const claimId = `${kept?.claims.claimSeed.slice(0, 18)}${id(1).slice(18)}`;
    expect(inFlight.seeds.isUnderWay({ id: id(1), claimId })).toBe(true);
    expect(inFlight.isEmpty).toBe(false);
    kept?.start([id(1)], 1_234);
    expect(inFlight.seeds.isUnderWay({ id: id(1), claimId })).toBe(true); // until the very turn in which it runs
    vi.runAllTimers();
    expect(inFlight.seeds.isUnderWay({ id: id(1), claimId })).toBe(false);
    expect(ran).toMatchObject([
      { id: id(1), claimId, enqueuedAt: 1_234, attemptNo: 1, input: '"1"' },
    ]);
  });

  test("frees the slot of a task that was stored as waiting", () => {
    const { directStart, inFlight, ran, returned } = setUp();
    directStart.reserveSlots([outgoing(1), outgoing(2)])?.start([id(2)], 0);
    vi.runAllTimers();
    expect(ran.map((task) => task.id)).toEqual([id(2)]);
    expect(returned).toEqual([false]);
    expect(inFlight.busyCount).toBe(0);
  });

  test("frees its slot after two seconds without an answer; a later answer starts nothing", () => {
    const { directStart, inFlight, ran, returned } = setUp();
    const kept = directStart.reserveSlots([outgoing(1)]);
    vi.advanceTimersByTime(1_999);
    expect(inFlight.busyCount).toBe(1);
    vi.advanceTimersByTime(1);
    expect(inFlight.busyCount).toBe(0);
    expect(returned).toEqual([true]);
    kept?.start([id(1)], 0);
    vi.runAllTimers();
    expect(ran).toEqual([]);
    expect(returned).toEqual([true, true]);
  });

  test("frees the slots of a failed send once", () => {
    const { directStart, inFlight, returned } = setUp();
    const kept = directStart.reserveSlots([outgoing(1)]);
    kept?.giveUp();
    vi.runAllTimers();
    expect(inFlight.busyCount).toBe(0);
    expect(returned).toEqual([true]);
  });
});
