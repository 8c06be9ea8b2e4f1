import { expect, test } from "vitest";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import { HeldTasks } from "./held-tasks.ts";
import { servicesWithoutDatabase } from "../../test/support/run-services.ts";
import { TaskRun } from "./task-run.ts";

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

test("an end stays until it is written, so that a write whose fate is unknown is repeated", () => {
  const held = new HeldTasks();
  held.end(succeeded("a"));
  held.end(succeeded("b"));
  const ends = held.plainEnds.next(0);
  expect(ends).toEqual([succeeded("a"), succeeded("b")]);
  expect(held.plainEnds.next(0)).toEqual(ends);
  held.written(ends.slice(0, 1));
  expect(held.plainEnds.next(0).map(({ id }) => id)).toEqual(["b"]);
  held.written(ends);
  expect(held.isEmpty).toBe(true);
});

test("ends are written two thousand at a time, those of nodes a thousand", () => {
  const held = new HeldTasks();
  for (let n = 0; n < 2_500; n++) held.end(succeeded(String(n)));
  for (let n = 0; n < 1_500; n++) held.end({ ...succeeded(`node ${n}`), isNode: true });
  const [first, firstNodes] = [held.plainEnds.next(0), held.nodeEnds.next(0)];
  expect([first.length, firstNodes.length]).toEqual([2_000, 1_000]);
  held.written([...first, ...firstNodes]);
  expect([held.plainEnds.next(0).length, held.nodeEnds.next(0).length]).toEqual([500, 500]);
});

test("what was fetched ahead starts in order, as many as there are slots", () => {
  const held = new HeldTasks();
  held.fetchedAhead(["a", "b", "c"].map(claimed));
  expect(held.nextAhead(0)).toEqual([]);
  expect(held.nextAhead(-2)).toEqual([]);
  const next = held.nextAhead(2);
  expect(next.map(({ id }) => id)).toEqual(["a", "b"]);
  held.takeAhead(next);
  expect([held.aheadCount, held.nextAhead(9)[0]?.id]).toEqual([1, "c"]);
});

test("giving back what was fetched ahead turns each into a release that never ran", () => {
  const held = new HeldTasks();
  held.fetchedAhead([claimed("a")]);
  held.releaseAhead();
  expect(held.aheadCount).toBe(0);
  expect(held.plainEnds.next(0)).toEqual([
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

test("giving up what runs turns each into a requeue and lets it go", () => {
  const held = new HeldTasks();
  const run = new TaskRun(claimed("a"), undefined, servicesWithoutDatabase());
  held.running.add(run);
  held.abandon([...held.running]);
  expect(held.running.size).toBe(0);
  expect(held.plainEnds.next(0)).toEqual([]);
  expect(held.interrupted).toMatchObject([{ id: "a", edge: "requeue", ran: true }]);
});

test("what is interrupted is put aside, and is held until it is decided", () => {
  const held = new HeldTasks();
  const runs = ["a", "b"].map(
    (id) => new TaskRun(claimed(id), undefined, servicesWithoutDatabase()),
  );
  for (const run of runs) held.running.add(run);
  const noneRuns = held.shutDown();
  held.abandon(runs.slice(0, 1));
  expect([noneRuns.aborted, held.plainEnds.next(0)]).toEqual([false, []]);
  expect(held.interrupted).toMatchObject([{ id: "a", edge: "requeue" }]);
  expect(held.claimKeys()).toContain("a/claim of a");
  expect(held.claims().running.map(({ id }) => id)).toEqual(["b", "a"]);
  held.abandon([...held.running]);
  expect([noneRuns.aborted, held.isEmpty]).toEqual([true, false]);
  held.endInterrupted();
  expect(held.plainEnds.next(0).map(({ id }) => id)).toEqual(["a", "b"]);
  expect(held.interrupted).toEqual([]);
});

test("what was given back is not held any more", () => {
  const held = new HeldTasks();
  held.running.add(new TaskRun(claimed("a"), undefined, servicesWithoutDatabase()));
  held.shutDown();
  held.abandon([...held.running]);
  held.givenBack(held.interrupted);
  expect(held.isEmpty).toBe(true);
});

test("every claim counts as held: running, fetched ahead, or ended and not yet written", () => {
  const held = new HeldTasks();
  const run = new TaskRun(claimed("r"), undefined, servicesWithoutDatabase());
  held.running.add(run);
  held.fetchedAhead([claimed("f")]);
  held.end(succeeded("e"));
  expect([...held.claimKeys()].sort()).toEqual(["e/claim of e", "f/claim of f", "r/claim of r"]);
});

test("what is stored as running begins in order, past what waits for a cap only, and is vouched for as running", () => {
  const held = new HeldTasks();
  const started = (id: string): ClaimedTask => ({ ...claimed(id), isStarted: true });
  held.fetchedAhead([started("a"), claimed("b"), started("c")]);
  expect(held.claims()).toEqual({
    running: ["a", "c"].map((id) => ({ id, claimId: `claim of ${id}` })),
    ahead: [{ id: "b", claimId: "claim of b" }],
  });
  expect(held.takeStarted()?.id).toBe("a");
  expect(held.takeStarted()).toBeUndefined(); // "b" comes first, and has to be started
  held.holdBack(held.nextAhead(1));
  held.tryHeldBack();
  expect(held.takeStarted()).toBeUndefined();
  held.holdBack(held.nextAhead(1));
  expect(held.takeStarted()?.id).toBe("c");
  expect(held.nextAhead(2)).toEqual([]);
  held.tryHeldBack();
  expect(held.nextAhead(2).map(({ id }) => id)).toEqual(["b"]);
});
