import { describe, expect, test } from "vitest";
import type { ClaimedTask } from "../../store/queries/claim/claim-tasks.ts";
import { InFlightTasks } from "./in-flight.ts";
import { servicesWithoutDatabase } from "../../../test/support/attempt-services.ts";
import { Attempt } from "../execution/attempt.ts";

function claimed(id: string): ClaimedTask {
  return {
    id,
    claimId: `claim of ${id}`,
    name: "n",
    queue: "q",
    priority: 7,
    enqueuedAt: 0,
    attemptNo: 1,
    retryCount: 0,
    input: "null",
    options: null,
  };
}

const succeeded = (id: string) => ({
  id,
  claimId: `claim of ${id}`,
  name: "n",
  queue: "q",
  priority: 7,
  edge: "succeed" as const,
  ran: true,
});

describe("InFlightTasks", () => {
  test("keeps an end until it is written, so an unanswered write is repeated", () => {
    const inFlight = new InFlightTasks();
    inFlight.end(succeeded("a"));
    inFlight.end(succeeded("b"));
    const ends = inFlight.plainEnds.next(0);
    expect(ends).toEqual([succeeded("a"), succeeded("b")]);
    expect(inFlight.plainEnds.next(0)).toEqual(ends);
    inFlight.written(ends.slice(0, 1));
    expect(inFlight.plainEnds.next(0).map(({ id }) => id)).toEqual(["b"]);
    inFlight.written(ends);
    expect(inFlight.isEmpty).toBe(true);
  });

  test("hands out up to 2,000 plain ends and 1,000 node ends at a time", () => {
    const inFlight = new InFlightTasks();
    for (let n = 0; n < 2_500; n++) inFlight.end(succeeded(String(n)));
    for (let n = 0; n < 1_500; n++) inFlight.end({ ...succeeded(`node ${n}`), isNode: true });
    const [first, firstNodes] = [inFlight.plainEnds.next(0), inFlight.nodeEnds.next(0)];
    expect([first.length, firstNodes.length]).toEqual([2_000, 1_000]);
    inFlight.written([...first, ...firstNodes]);
    expect([inFlight.plainEnds.next(0).length, inFlight.nodeEnds.next(0).length]).toEqual([
      500, 500,
    ]);
  });

  test("hands out prefetched tasks in order, as many as there are slots", () => {
    const inFlight = new InFlightTasks();
    inFlight.addPrefetched(["a", "b", "c"].map(claimed));
    expect(inFlight.nextPrefetched(0)).toEqual([]);
    expect(inFlight.nextPrefetched(-2)).toEqual([]);
    const next = inFlight.nextPrefetched(2);
    expect(next.map(({ id }) => id)).toEqual(["a", "b"]);
    inFlight.removePrefetched(next);
    expect([inFlight.prefetchedCount, inFlight.nextPrefetched(9)[0]?.id]).toEqual([1, "c"]);
  });

  test("turns released prefetched tasks into releases without an attempt", () => {
    const inFlight = new InFlightTasks();
    inFlight.addPrefetched([claimed("a")]);
    inFlight.releasePrefetched();
    expect(inFlight.prefetchedCount).toBe(0);
    expect(inFlight.plainEnds.next(0)).toEqual([
      {
        id: "a",
        claimId: "claim of a",
        name: "n",
        edge: "release",
        ran: false,
        queue: "q",
        priority: 7,
      },
    ]);
  });

  test("turns abandoned attempts into requeues", () => {
    const inFlight = new InFlightTasks();
    const attempt = new Attempt(claimed("a"), undefined, servicesWithoutDatabase());
    inFlight.running.add(attempt);
    inFlight.abandon([...inFlight.running]);
    expect(inFlight.running.size).toBe(0);
    expect(inFlight.plainEnds.next(0)).toEqual([]);
    expect(inFlight.interrupted).toMatchObject([{ id: "a", edge: "requeue", ran: true }]);
  });

  test("keeps interrupted attempts in flight until they are decided", () => {
    const inFlight = new InFlightTasks();
    const attempts = ["a", "b"].map(
      (id) => new Attempt(claimed(id), undefined, servicesWithoutDatabase()),
    );
    for (const attempt of attempts) inFlight.running.add(attempt);
    const noneRuns = inFlight.shutDown();
    inFlight.abandon(attempts.slice(0, 1));
    expect([noneRuns.aborted, inFlight.plainEnds.next(0)]).toEqual([false, []]);
    expect(inFlight.interrupted).toMatchObject([{ id: "a", edge: "requeue" }]);
    expect(inFlight.claimKeys()).toContain("a/claim of a");
    expect(inFlight.claims().running.map(({ id }) => id)).toEqual(["b", "a"]);
    inFlight.abandon([...inFlight.running]);
    expect([noneRuns.aborted, inFlight.isEmpty]).toEqual([true, false]);
    inFlight.endInterrupted();
    expect(inFlight.plainEnds.next(0).map(({ id }) => id)).toEqual(["a", "b"]);
    expect(inFlight.interrupted).toEqual([]);
  });

  test("drops a task that was returned to its queue", () => {
    const inFlight = new InFlightTasks();
    inFlight.running.add(new Attempt(claimed("a"), undefined, servicesWithoutDatabase()));
    inFlight.shutDown();
    inFlight.abandon([...inFlight.running]);
    inFlight.givenBack(inFlight.interrupted);
    expect(inFlight.isEmpty).toBe(true);
  });

  test("lists the claims of running, prefetched and unwritten tasks", () => {
    const inFlight = new InFlightTasks();
    const attempt = new Attempt(claimed("r"), undefined, servicesWithoutDatabase());
    inFlight.running.add(attempt);
    inFlight.addPrefetched([claimed("f")]);
    inFlight.end(succeeded("e"));
    expect([...inFlight.claimKeys()].sort()).toEqual([
      "e/claim of e",
      "f/claim of f",
      "r/claim of r",
    ]);
  });

  test("begins prefetched RUNNING tasks in order, past capped ones, and counts them as running", () => {
    const inFlight = new InFlightTasks();
    const started = (id: string): ClaimedTask => ({ ...claimed(id), isStoredRunning: true });
    inFlight.addPrefetched([started("a"), claimed("b"), started("c")]);
    expect(inFlight.claims()).toEqual({
      running: ["a", "c"].map((id) => ({ id, claimId: `claim of ${id}` })),
      prefetched: [{ id: "b", claimId: "claim of b" }],
    });
    expect(inFlight.takeStarted()?.id).toBe("a");
    expect(inFlight.takeStarted()).toBeUndefined(); // "b" comes first, and has to be started
    inFlight.holdBack(inFlight.nextPrefetched(1));
    inFlight.tryHeldBack();
    expect(inFlight.takeStarted()).toBeUndefined();
    inFlight.holdBack(inFlight.nextPrefetched(1));
    expect(inFlight.takeStarted()?.id).toBe("c");
    expect(inFlight.nextPrefetched(2)).toEqual([]);
    inFlight.tryHeldBack();
    expect(inFlight.nextPrefetched(2).map(({ id }) => id)).toEqual(["b"]);
  });
});
