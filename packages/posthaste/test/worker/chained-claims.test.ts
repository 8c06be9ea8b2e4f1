/** The transaction that ends a node of a workflow claims the nodes that follow it. */
import { AsyncLocalStorage } from "node:async_hooks";
import pg from "pg";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { defineTask, defineWorkflow } from "../../src/index.ts";
import { queueChannel } from "../../src/store/channels.ts";
import { cutOnce, useFaultyWires } from "../faults/faulty-wire.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait-until.ts";
import { useHeldTasks } from "./held-task.ts";

const db = useDatabase();
useCleanTables(db);
const openWire = useFaultyWires(db);
const heldTask = useHeldTasks();
vi.setConfig({ testTimeout: 30_000 });

const note = defineTask({ name: "note", run: (text: string) => text });

type Held = ReturnType<typeof heldTask>["task"];

/** A workflow of two nodes: the first ends at once, the second is held. */
function pair(held: Held, queue = "default") {
  return defineWorkflow({
    name: `pair-${queue}`,
    build: (flow) => {
      const first = flow.node("first", note, "a");
      return flow.node("second", held, first.output, { queue }).output;
    },
  });
}

/** Whether the transaction that ended the first node of a run claimed the second. */
async function isFollowUp(runId: string): Promise<boolean | undefined> {
  const [row] = await db.sql<{ same: boolean }>(
    `select before.xmin = after.xmin as same
       from posthaste.submissions as one
       join posthaste.finished_tasks as before using (task_id)
       join posthaste.submissions as two on two.workflow_id = one.workflow_id and two.node = 'second'
       join posthaste.active_tasks as after on after.task_id = two.task_id
      where one.workflow_id = $1 and one.node = 'first'`,
    [runId],
  );
  return row?.same;
}

/** Collects the notifications to the workers of a queue. */
async function listen(queue: string): Promise<string[]> {
  const heard: string[] = [];
  const client = new pg.Client(db.url);
  await client.connect();
  onTestFinished(() => client.end());
  client.on("notification", ({ payload }) => heard.push(payload ?? ""));
  await client.query(`listen "${queueChannel("posthaste", queue)}"`);
  return heard;
}

test("a worker claims the next node of a run in the transaction that ended the node before it", async () => {
  const held = heldTask();
  const workflow = pair(held.task);
  const app = db.app({ tasks: [note, held.task], workflows: [workflow] });
  await app.worker({ concurrency: 5 }).start();
  const run = await app.start(workflow, undefined);
  await held.begun(1);
  expect(await isFollowUp(run.id)).toBe(true);
  held.finishAll();
  expect(await run.value({ timeoutMs: 30_000 })).toBe("a done");
});

test("a chained claim notifies no worker, and a node of another queue notifies the workers of that queue", async () => {
  const held = heldTask();
  const workflows = [pair(held.task), pair(held.task, "elsewhere")] as const;
  const app = db.app({ tasks: [note, held.task], workflows });
  await app.worker({ concurrency: 5, queues: ["default"] }).start();
  const [here, elsewhere] = [await listen("default"), await listen("elsewhere")];
  await app.start(workflows[0], undefined);
  await held.begun(1);
  expect(here).toHaveLength(1); // for the first node, when the run was started
  await app.start(workflows[1], undefined);
  await waitUntil("the others are told", () => elsewhere.length === 1);
  expect(held.bodies).toHaveLength(1);
});

test("a chained claim of a fan-out takes as many items as there are free slots, and a notification announces the rest", async () => {
  const held = heldTask();
  const list = defineTask({ name: "list", run: (): string[] => ["a", "b", "c", "d"] });
  const fan = defineWorkflow({
    name: "fan",
    build: (flow) => {
      const first = flow.node("first", list, undefined);
      return flow.each("second", held.task, first.output, (item) => item).output;
    },
  });
  const app = db.app({ tasks: [list, held.task], workflows: [fan] });
  await app.worker({ concurrency: 2 }).start();
  const heard = await listen("default");
  const run = await app.start(fan, undefined);
  await held.begun(2);
  await waitUntil("the others are told", () => heard.length === 2);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(held.bodies).toHaveLength(2); // never more than there are slots
  for (const count of [2, 3, 4]) {
    await held.begun(count);
    held.finishAll();
  }
  await expect.poll(() => held.inputs().length).toBe(4);
  held.finishAll();
  expect(await run.value({ timeoutMs: 30_000 })).toEqual(["a done", "b done", "c done", "d done"]);
});

test("a worker starts an older task of the queue before the next node, though no notification announced it", async () => {
  const held = heldTask();
  const before = heldTask("before");
  const workflow = defineWorkflow({
    name: "in order",
    build: (flow) => {
      const first = flow.node("first", before.task, "a");
      return flow.node("second", held.task, first.output).output;
    },
  });
  const app = db.app({ tasks: [before.task, held.task], workflows: [workflow] });
  await app.worker({ concurrency: 1 }).start();
  const run = await app.start(workflow, undefined);
  await before.begun(1);
  await db.sql(
    `with sent as (
       insert into posthaste.submissions (task_id, sent_at, priority, name, queue, input)
       values (gen_random_uuid(), now(), 100, 'held', 'default', '"plain"') returning *)
     insert into posthaste.ready_tasks (task_id, enqueued_at, priority, queue)
     select task_id, sent_at, priority, queue from sent`,
  );
  before.finishAll();
  await held.begun(1);
  held.finishAll();
  await held.begun(2);
  held.finishAll();
  expect(held.inputs()).toEqual(["plain", "a done"]);
  expect(await run.value({ timeoutMs: 30_000 })).toBe("a done done");
});

test("a handler does not see the asynchronous context of the handler before it", async () => {
  const requests = new AsyncLocalStorage<string>();
  const enters = defineTask({ name: "enters", run: () => requests.enterWith("the first") });
  const looks = defineTask({ name: "looks", run: () => requests.getStore() ?? "nothing" });
  const workflow = defineWorkflow({
    name: "context",
    build: (flow) => {
      const first = flow.node("first", enters, undefined);
      return flow.node("second", looks, undefined, { after: first }).output;
    },
  });
  const app = db.app({ tasks: [enters, looks], workflows: [workflow] });
  await app.worker().start();
  const run = await app.start(workflow, undefined);
  expect(await run.value({ timeoutMs: 30_000 })).toBe("nothing");
});

test("a run that another session keeps locked does not keep slots from other tasks for long", async () => {
  const held = heldTask();
  const first = heldTask("first");
  const workflow = defineWorkflow({
    name: "locked",
    build: (flow) => flow.node("second", note, flow.node("first", first.task, "a").output).output,
  });
  const app = db.app({ tasks: [first.task, held.task, note], workflows: [workflow] });
  await app.worker({ concurrency: 2 }).start();
  const run = await app.start(workflow, undefined);
  await first.begun(1);
  const client = new pg.Client(db.url);
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("begin");
  await client.query("select from posthaste.workflow_states where workflow_id = $1 for update", [
    run.id,
  ]);
  first.finishAll();
  await new Promise((resolve) => setTimeout(resolve, 100));
  await app.sendMany(held.task, ["a", "b"]);
  await held.begun(2);
  await client.query("rollback");
  await expect
    .poll(async () => (await db.sql("select from posthaste.tasks where name = 'note'")).length)
    .toBe(1);
  held.finishAll(); // frees a slot for the second node
  expect(await run.value({ timeoutMs: 30_000 })).toBe("a done");
  expect(held.bodies).toHaveLength(2);
});

test("a stopping worker claims no next node", async () => {
  const first = heldTask("first");
  const workflow = defineWorkflow({
    name: "stopping",
    build: (flow) => flow.node("second", note, flow.node("first", first.task, "a").output).output,
  });
  const app = db.app({ tasks: [first.task, note], workflows: [workflow] });
  const worker = await app.worker({ concurrency: 2 }).start();
  const run = await app.start(workflow, undefined);
  await first.begun(1);
  const stopping = worker.stop();
  first.finishAll();
  await stopping;
  const waiting = await db.sql(
    `select from posthaste.tasks where name = 'note' and status = 'PENDING'`,
  );
  expect(waiting).toHaveLength(1);
  await app.worker().start();
  expect(await run.value({ timeoutMs: 30_000 })).toBe("a done");
});

describe("chained claims over a connection that breaks at the transaction", () => {
  test.each(["question", "answer"] as const)(
    "each node runs once when the %s is lost",
    async (place) => {
      const held = heldTask();
      const workflow = pair(held.task);
      const { cut, ...faults } = cutOnce(/advance_workflows/, place);
      const { app } = await openWire(faults, { tasks: [note, held.task], workflows: [workflow] });
      await app.worker({ concurrency: 5 }).start();
      const run = await app.start(workflow, undefined);
      await held.begun(1);
      expect(cut.times).toBe(1);
      if (place === "answer") expect(await isFollowUp(run.id)).toBe(true);
      held.finishAll();
      expect(await run.value({ timeoutMs: 30_000 })).toBe("a done");
      expect(held.inputs()).toEqual(["a"]);
    },
  );
});
