import { expect, test } from "vitest";
import type { Config } from "../domain/config.ts";
import type { WorkerPlan } from "../domain/worker-options.ts";
import type { ClaimReply } from "../store/queries/claim-tasks.ts";
import type { Store } from "../store/store.ts";
import { ClaimDesk } from "./claim-desk.ts";

const now = performance.now();

/** A worker of three queues, of which "narrow" has a cap; the others are of one rank. It has heard of them, and found nothing more. */
function setUp(
  config: Partial<Config> = {},
  plan: Partial<WorkerPlan> = {},
  unknownNames: readonly string[] = [],
): ClaimDesk {
  const desk = new ClaimDesk({
    store: {} as Store,
    config: {
      resilience: { notifyPollIntervalMs: 5_000 },
      clusterWideCap: null,
      prefetchBuffer: 0,
      claimLeaseMs: 60_000,
      ...config,
    } as Config,
    plan: {
      concurrency: 10,
      maxClaimPerWorker: 10,
      maxClaimBatch: 0,
      queueCaps: new Map([["narrow", 1]]),
      queueRanks: new Map([
        ["narrow", 1],
        ["mail", 100],
        ["bills", 100],
      ]),
      ...plan,
    } as unknown as WorkerPlan,
    workerId: "a worker",
    unknownNames: () => unknownNames,
  });
  for (const queue of ["narrow", "mail", "bills"]) desk.hint(queue, { priority: 100, due: 0 });
  const { claim } = desk.requests(now, { running: 0, ahead: 0 });
  desk.fed(claim, nothing, desk.wakes);
  return desk;
}

const nothing: ClaimReply = {
  tasks: [],
  expired: [],
  nextDueMs: null,
  isFull: false,
  isHeldBack: false,
};

test("a claim beside the loop's looks into the lanes of queues that nothing limits, tied ones as one line", () => {
  const desk = setUp();
  const request = desk.requestBeside(2);
  expect(request?.lanes.map(({ queue }) => queue)).toEqual(["mail", "bills"]);
  expect(request).toMatchObject({ limit: 2, workerId: "a worker", rules: { unknownNames: null } });
});

test("lanes of different ranks need no rules", () => {
  const ranks = new Map([
    ["mail", 1],
    ["bills", 2],
  ]);
  expect(setUp({}, { queueRanks: ranks }).requestBeside(2)?.rules).toBeUndefined();
});

test.each([
  ["the whole cluster has a cap", { clusterWideCap: 5 }, {}],
  ["a pass takes only so many", {}, { maxClaimBatch: 1 }],
])("none where %s", (_, config, plan) => {
  expect(setUp(config, plan).requestBeside(2)).toBeUndefined();
});

test("names that the worker has met and does not know are left to others, by all its claims", () => {
  const names: string[] = [];
  const desk = setUp({}, { queueCaps: new Map(), queueRanks: new Map([["mail", 1]]) }, names);
  const ask = () => {
    desk.hint("mail", { priority: 100, due: 0 });
    return desk.requests(now, { running: 0, ahead: 0 }).claim;
  };
  expect([ask()?.rules, desk.requestBeside(1)?.rules, desk.rules]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  names.push("strange");
  const rules = { unknownNames: ["strange"], clusterWideCap: null };
  expect(ask()).toMatchObject({ rules });
  expect(desk.requestBeside(1)).toMatchObject({ rules });
});

test("what it brings says that there is work, never that there is none", () => {
  const desk = setUp();
  expect(desk.isSated(now)).toBe(true);
  desk.fedBeside({ ...nothing, nextDueMs: 40 });
  expect(desk.restMs(performance.now())).toBeLessThanOrEqual(40);
  desk.fedBeside(nothing); // what is due in the other lanes is not forgotten
  expect(desk.restMs(performance.now())).toBeLessThanOrEqual(40);
  desk.fedBeside({ ...nothing, isFull: true });
  expect(desk.isSated(now)).toBe(false);
});

test("once all that was fetched ahead was born running, one claim serves slots and buffer, half of them at a time", () => {
  const desk = setUp(
    { prefetchBuffer: 10, startAhead: true },
    { queueCaps: new Map(), maxClaimPerWorker: 20 },
  );
  const ask = () => {
    desk.hint("mail", { priority: 100, due: 0 });
    return desk.requests(now, { running: 0, ahead: 0 });
  };
  const first = ask();
  expect([first.claim?.limit, first.ahead?.limit]).toEqual([10, 10]);
  expect(first.ahead?.startsAhead).toBe(true);
  const task = {
    id: "a",
    claimId: "c",
    name: "n",
    queue: "mail",
    priority: 100,
    enqueuedAt: 1,
    attemptNo: 1,
  };
  const born = (isStarted: boolean) => ({
    ...task,
    retryCount: 0,
    input: "1",
    options: null,
    isStarted,
  });
  desk.fed(first.ahead, { ...nothing, tasks: [born(true)] }, desk.wakes);
  const second = ask();
  expect([second.claim, second.ahead?.limit]).toEqual([undefined, 10]);
  desk.fed(second.ahead, { ...nothing, tasks: [born(true), born(false)] }, desk.wakes);
  expect(ask().claim?.limit).toBe(10);
});
