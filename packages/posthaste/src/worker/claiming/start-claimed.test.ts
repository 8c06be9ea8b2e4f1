import { describe, expect, test } from "vitest";
import { taskAhead } from "../../../test/support/claimed-task.ts";
import { servicesWithoutDatabase } from "../../../test/support/attempt-services.ts";
import type { Connection } from "../../store/connection.ts";
import type { StartReply } from "../../store/queries/claim/start-tasks.ts";
import { PrefetchedStarts } from "../slots/prefetched-starts.ts";
import { startClaimed, slotsFor } from "./start-claimed.ts";
import { InFlightTasks } from "../slots/in-flight.ts";
import type { Attempt } from "../execution/attempt.ts";
import type { ClaimedTask } from "../../store/queries/claim/claim-tasks.ts";
import type { UnknownNames } from "./unknown-names.ts";

/** Four slots, three CLAIMED tasks that a round trip starts, and six prefetched RUNNING tasks behind them. */
function startThree(reply: Partial<StartReply>) {
  const inFlight = new InFlightTasks();
  const starts = ["c1", "c2", "c3"].map((id) => taskAhead(id, false));
  inFlight.addPrefetched([
    ...starts,
    ...["s1", "s2", "s3", "s4", "s5", "s6"].map((id) => taskAhead(id, true)),
  ]);
  let most = 0;
  const run = (task: { readonly id: string }): void => {
    if (task.id !== "c1") inFlight.running.add({ claimed: task } as Attempt);
    most = Math.max(most, inFlight.running.size);
    line.begin(); // the handler of "c1" ends at once
  };
  const line: PrefetchedStarts = new PrefetchedStarts({
    inFlight,
    concurrency: 4,
    mayBegin: () => true,
    run,
  });
  const round = { starts, claim: undefined, prefetch: undefined, rules: undefined };
  const slots = slotsFor(inFlight, round);
  line.begin();
  const nothing: StartReply = { started: [], heldBack: [], paused: [], lateNodes: [], expired: [] };
  const start = { ...nothing, ...reply };
  const starter = {
    inFlight,
    unknown: { putBack: (tasks: ClaimedTask[]) => tasks } as UnknownNames,
    services: servicesWithoutDatabase(),
    queueRanks: new Map(),
    run,
  };
  const none = { claim: undefined, prefetch: undefined };
  startClaimed(starter, { connection: {} as Connection, round, reply: { ...none, start }, slots });
  line.begin();
  return { most, running: [...inFlight.running].map(({ claimed }) => claimed.id) };
}

describe("startClaimed", () => {
  test("begins no more tasks than there are slots when a handler ends at once", () => {
    const started = ["c1", "c2", "c3"].map((id) => ({ id, attemptNo: 1 }));
    const { most, running } = startThree({ started });
    expect(most).toBe(4);
    expect(running.filter((id) => id.startsWith("c"))).toEqual(["c2", "c3"]);
  });

  test("starts the tasks behind one that a cap holds back", () => {
    const { running } = startThree({ heldBack: ["c1", "c2", "c3"] });
    expect(running).toEqual(["s1", "s2", "s3", "s4"]);
  });

  test("starts a task after the unwritten end of its last attempt is written", () => {
    const inFlight = new InFlightTasks();
    const task = taskAhead("again", false);
    const end = { ...task, edge: "retry" as const, ran: true };
    inFlight.end(end);
    const ran: string[] = [];
    const run = (started: { readonly id: string }): void => void ran.push(started.id);
    const round = { starts: [], claim: undefined, prefetch: undefined, rules: undefined };
    const claim = { tasks: [task], expired: [], nextDueMs: null, isFull: false, isHeldBack: false };
    const starter = {
      inFlight,
      unknown: { putBack: (tasks: ClaimedTask[]) => tasks } as UnknownNames,
      services: servicesWithoutDatabase(),
      queueRanks: new Map(),
      run,
    };
    const reply = { start: undefined, claim, prefetch: undefined };
    const slots = inFlight.slots.reserve("claim", 1);
    startClaimed(starter, { connection: {} as Connection, round, reply, slots });
    const line = new PrefetchedStarts({ inFlight, concurrency: 4, mayBegin: () => true, run });
    line.begin();
    expect(ran).toEqual([]);
    inFlight.written([end]);
    line.begin();
    expect(ran).toEqual(["again"]);
  });
});
