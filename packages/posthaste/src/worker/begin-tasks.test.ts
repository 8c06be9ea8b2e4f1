import { expect, test } from "vitest";
import { taskAhead } from "../../test/support/claimed-task.ts";
import { servicesWithoutDatabase } from "../../test/support/run-services.ts";
import type { Connection } from "../store/connection.ts";
import type { StartReply } from "../store/queries/start-tasks.ts";
import { AheadLine } from "./ahead-line.ts";
import { beginTasks, slotsFor } from "./begin-tasks.ts";
import { HeldTasks } from "./held-tasks.ts";
import type { TaskRun } from "./task-run.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import type { UnknownNames } from "./unknown-names.ts";

/** Four slots, three tasks that a round trip starts, and six behind them that only have to begin. */
function startThree(reply: Partial<StartReply>) {
  const held = new HeldTasks();
  const starts = ["c1", "c2", "c3"].map((id) => taskAhead(id, false));
  held.fetchedAhead([
    ...starts,
    ...["s1", "s2", "s3", "s4", "s5", "s6"].map((id) => taskAhead(id, true)),
  ]);
  let most = 0;
  const run = (task: { readonly id: string }): void => {
    if (task.id !== "c1") held.running.add({ claimed: task } as TaskRun);
    most = Math.max(most, held.running.size);
    line.begin(); // the body of "c1" ends at once
  };
  const line: AheadLine = new AheadLine({ held, concurrency: 4, mayBegin: () => true, run });
  const plan = { starts, claim: undefined, ahead: undefined, rules: undefined };
  const slots = slotsFor(held, plan);
  line.begin();
  const nothing: StartReply = { started: [], heldBack: [], paused: [], lateNodes: [], expired: [] };
  const start = { ...nothing, ...reply };
  const beginner = {
    held,
    unknown: { putBack: (tasks: ClaimedTask[]) => tasks } as UnknownNames,
    services: servicesWithoutDatabase(),
    queueRanks: new Map(),
    run,
  };
  const none = { claim: undefined, ahead: undefined };
  beginTasks(beginner, { connection: {} as Connection, plan, reply: { ...none, start }, slots });
  line.begin();
  return { most, running: [...held.running].map(({ claimed }) => claimed.id) };
}

test("a body that ends at once makes room for one, not for those that are about to begin", () => {
  const started = ["c1", "c2", "c3"].map((id) => ({ id, attemptNo: 1 }));
  const { most, running } = startThree({ started });
  expect(most).toBe(4);
  expect(running.filter((id) => id.startsWith("c"))).toEqual(["c2", "c3"]);
});

test("what a cap holds back holds up nobody behind it", () => {
  const { running } = startThree({ heldBack: ["c1", "c2", "c3"] });
  expect(running).toEqual(["s1", "s2", "s3", "s4"]);
});

test("a task whose last attempt has an unwritten end starts when that end is written", () => {
  const held = new HeldTasks();
  const task = taskAhead("again", false);
  const end = { ...task, edge: "retry" as const, ran: true };
  held.end(end);
  const ran: string[] = [];
  const run = (started: { readonly id: string }): void => void ran.push(started.id);
  const plan = { starts: [], claim: undefined, ahead: undefined, rules: undefined };
  const claim = { tasks: [task], expired: [], nextDueMs: null, isFull: false, isHeldBack: false };
  const beginner = {
    held,
    unknown: { putBack: (tasks: ClaimedTask[]) => tasks } as UnknownNames,
    services: servicesWithoutDatabase(),
    queueRanks: new Map(),
    run,
  };
  const reply = { start: undefined, claim, ahead: undefined };
  const slots = held.slots.reserve("claim", 1);
  beginTasks(beginner, { connection: {} as Connection, plan, reply, slots });
  const line = new AheadLine({ held, concurrency: 4, mayBegin: () => true, run });
  line.begin();
  expect(ran).toEqual([]);
  held.written([end]);
  line.begin();
  expect(ran).toEqual(["again"]);
});
