import { describe, expect, test } from "vitest";
import type { Config } from "../../config/config.ts";
import type { WorkerSettings } from "../../config/worker-options.ts";
import type { ClaimReply } from "../../store/queries/claim/claim-tasks.ts";
import type { Store } from "../../store/store.ts";
import { ClaimRequester } from "./claim-requester.ts";

const now = performance.now();

/** A worker of three queues: "narrow" has a cap, the others share a rank. It has had hints for all, and its claim found nothing. */
function setUp(
  config: Partial<Config> = {},
  settings: Partial<WorkerSettings> = {},
  unknownNames: readonly string[] = [],
): ClaimRequester {
  const requester = new ClaimRequester({
    store: {} as Store,
    config: {
      resilience: { notifyPollIntervalMs: 5_000 },
      clusterWideCap: null,
      prefetchBuffer: 0,
      claimLeaseMs: 60_000,
      ...config,
    } as Config,
    settings: {
      concurrency: 10,
      maxClaimPerWorker: 10,
      maxClaimBatch: 0,
      queueCaps: new Map([["narrow", 1]]),
      queueRanks: new Map([
        ["narrow", 1],
        ["mail", 100],
        ["bills", 100],
      ]),
      ...settings,
    } as unknown as WorkerSettings,
    workerId: "a worker",
    unknownNames: () => unknownNames,
  });
  for (const queue of ["narrow", "mail", "bills"]) requester.hint(queue, { priority: 100, due: 0 });
  const { claim } = requester.requests(now, { running: 0, prefetched: 0 });
  requester.onReply(claim, nothing, requester.wakes);
  return requester;
}

const nothing: ClaimReply = {
  tasks: [],
  expired: [],
  nextDueMs: null,
  isFull: false,
  isHeldBack: false,
};

describe("ClaimRequester", () => {
  test("requests a side claim from uncapped lanes only, with queues of one rank merged", () => {
    const requester = setUp();
    const request = requester.requestBeside(2);
    expect(request?.lanes.map(({ queue }) => queue)).toEqual(["mail", "bills"]);
    expect(request).toMatchObject({
      limit: 2,
      workerId: "a worker",
      rules: { unknownNames: null },
    });
  });

  test("needs no rules for lanes of different ranks", () => {
    const ranks = new Map([
      ["mail", 1],
      ["bills", 2],
    ]);
    expect(setUp({}, { queueRanks: ranks }).requestBeside(2)?.rules).toBeUndefined();
  });

  test.each([
    ["the whole cluster has a cap", { clusterWideCap: 5 }, {}],
    ["maxClaimBatch is set", {}, { maxClaimBatch: 1 }],
  ])("makes no side request where %s", (_, config, settings) => {
    expect(setUp(config, settings).requestBeside(2)).toBeUndefined();
  });

  test("leaves task names unknown to the worker out of all its claims", () => {
    const names: string[] = [];
    const requester = setUp(
      {},
      { queueCaps: new Map(), queueRanks: new Map([["mail", 1]]) },
      names,
    );
    const ask = () => {
      requester.hint("mail", { priority: 100, due: 0 });
      return requester.requests(now, { running: 0, prefetched: 0 }).claim;
    };
    expect([ask()?.rules, requester.requestBeside(1)?.rules, requester.rules]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    names.push("strange");
    const rules = { unknownNames: ["strange"], clusterWideCap: null };
    expect(ask()).toMatchObject({ rules });
    expect(requester.requestBeside(1)).toMatchObject({ rules });
  });

  test("learns of work from a chained reply, and never that there is none", () => {
    const requester = setUp();
    expect(requester.isCaughtUp(now)).toBe(true);
    requester.onChainedReply({ ...nothing, nextDueMs: 40 });
    expect(requester.restMs(performance.now())).toBeLessThanOrEqual(40);
    requester.onChainedReply(nothing); // the due time of the other lanes stays
    expect(requester.restMs(performance.now())).toBeLessThanOrEqual(40);
    requester.onChainedReply({ ...nothing, isFull: true });
    expect(requester.isCaughtUp(now)).toBe(false);
  });

  test("claims for slots and buffer in one request once all prefetched tasks come as RUNNING", () => {
    const requester = setUp(
      { prefetchBuffer: 10, startAhead: true },
      { queueCaps: new Map(), maxClaimPerWorker: 20 },
    );
    const ask = () => {
      requester.hint("mail", { priority: 100, due: 0 });
      return requester.requests(now, { running: 0, prefetched: 0 });
    };
    const first = ask();
    expect([first.claim?.limit, first.prefetch?.limit]).toEqual([10, 10]);
    expect(first.prefetch?.startsAhead).toBe(true);
    const task = {
      id: "a",
      claimId: "c",
      name: "n",
      queue: "mail",
      priority: 100,
      enqueuedAt: 1,
      attemptNo: 1,
    };
    const fetched = (isStoredRunning: boolean) => ({
      ...task,
      retryCount: 0,
      input: "1",
      options: null,
      isStoredRunning,
    });
    requester.onReply(first.prefetch, { ...nothing, tasks: [fetched(true)] }, requester.wakes);
    const second = ask();
    expect([second.claim, second.prefetch?.limit]).toEqual([undefined, 10]);
    requester.onReply(
      second.prefetch,
      { ...nothing, tasks: [fetched(true), fetched(false)] },
      requester.wakes,
    );
    expect(ask().claim?.limit).toBe(10);
  });
});
