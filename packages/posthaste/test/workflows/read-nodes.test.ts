/** Reading a run: its info, its nodes, their attempts, and their earlier states. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  listWorkflows,
  readNodeResults,
  readWorkflowInfo,
  readWorkflowNodes,
} from "../../src/workflows/read-workflow.ts";
import { useDatabase } from "../support/database.ts";
import { any, each, graph, nested, node, when } from "./small-graphs.ts";
import { useRuns } from "./use-runs.ts";
import { withDatabase } from "./with-database.ts";

const db = useDatabase();
const runs = useRuns(db);
const worker = randomUUID();

const nodesOf = (id: string) => withDatabase(db, (database) => readWorkflowNodes(database, id));
const infoOf = (id: string) => withDatabase(db, (database) => readWorkflowInfo(database, id));

/** A worker begins the task of a node. */
async function begin(name: string): Promise<string> {
  const task = await runs.task(name);
  await db.sql(
    `with gone as (delete from posthaste.ready_tasks where task_id = $1 returning *)
     insert into posthaste.active_tasks (task_id, claim_id, worker_id, enqueued_at, started_at, attempt_no)
     select task_id, gen_random_uuid(), $2, enqueued_at, clock_timestamp(), coalesce(attempt_no, 0) + 1 from gone`,
    [task, worker],
  );
  return task;
}

/** The handler of the task fails, and its retry is stored. */
async function failOnce(task: string): Promise<void> {
  await db.sql(
    `with gone as (delete from posthaste.active_tasks where task_id = $1 returning *), kept as (
       insert into posthaste.attempts
         (task_id, attempt_no, claim_id, worker_id, claimed_at, started_at, finished_at, outcome, error_code, error)
       select task_id, attempt_no, claim_id, worker_id, started_at, started_at, clock_timestamp(), 'FAILED', 'BUSY',
              '{"code": "BUSY", "message": "busy"}'
         from gone
     )
     insert into posthaste.ready_tasks (task_id, enqueued_at, attempt_no, retry_count, priority, queue)
     select task_id, enqueued_at, attempt_no, 1, priority, queue from gone join posthaste.submissions using (task_id)`,
    [task],
  );
}

test("a node is RUNNING from the first attempt of its task on, also while the task waits for a retry", async () => {
  const id = await runs.start(graph("chain", [node("a"), node("b", "a")]));
  const statusOf = async () => (await nodesOf(id)).map(({ status }) => status);

  expect(await statusOf()).toEqual(["ENQUEUED", "PENDING"]);
  const task = await begin("a");
  expect(await statusOf()).toEqual(["RUNNING", "PENDING"]);
  await failOnce(task);
  expect(await statusOf()).toEqual(["RUNNING", "PENDING"]);

  const [a, b] = await nodesOf(id);
  expect(a).toMatchObject({
    id: "a",
    kind: "task",
    task: "a",
    taskId: task,
    runId: null,
    items: null,
    enqueuedAt: expect.any(Date),
    startedAt: expect.any(Date),
    endedAt: null,
    result: null,
    earlier: [],
  });
  expect(a?.attempts).toEqual([
    {
      attempt: 1,
      outcome: "FAILED",
      willRetry: true,
      startedAt: expect.any(Date),
      finishedAt: expect.any(Date),
      errorCode: "BUSY",
      error: { code: "BUSY", message: "busy" },
      workerId: worker,
    },
  ]);
  expect(b).toMatchObject({ taskId: null, enqueuedAt: null, startedAt: null, attempts: [] });
});

test("a node whose task is CLAIMED is ENQUEUED", async () => {
  const id = await runs.start(graph("one", [node("a")]));
  const task = await begin("a");
  await db.sql(
    `update posthaste.active_tasks
        set claimed_at = started_at, started_at = null, attempt_no = 0, claim_expires_at = now() + interval '1 minute'
      where task_id = $1`,
    [task],
  );

  expect((await nodesOf(id))[0]).toMatchObject({ status: "ENQUEUED", startedAt: null });
});

test("nodes show the counts of a fan-out's items, the id of a nested run and the kind of a gate", async () => {
  const inner = graph("inner", [node("core")]);
  const outer = graph("outer", [
    node("a"),
    each("items", "a"),
    nested("deep", inner, "a"),
    any("$any1", "a"),
    when("$when2", "a"),
    node("late", "items"),
  ]);
  const id = await runs.start([inner, outer], { some: "input" });
  await runs.complete("a", [1, 2, 3]);
  await runs.complete("items[0]", "first");
  await runs.fail("items[1]");

  const nodes = await nodesOf(id);
  expect(nodes.map(({ id: name, kind, status }) => [name, kind, status])).toEqual([
    ["a", "task", "COMPLETED"],
    ["items", "each", "RUNNING"],
    ["deep", "workflow", "RUNNING"],
    ["$any1", "any", "COMPLETED"],
    ["$when2", "when", "COMPLETED"],
    ["late", "task", "PENDING"],
  ]);
  const [a, items, deep, gate] = nodes;
  expect(a).toMatchObject({ result: { ok: true, value: [1, 2, 3] }, endedAt: expect.any(Date) });
  expect(items).toMatchObject({
    items: { total: 3, completed: 1, failed: 1 },
    enqueuedAt: expect.any(Date),
    result: null,
  });
  expect(deep).toMatchObject({ runId: expect.any(String), startedAt: expect.any(Date) });
  expect(gate).toMatchObject({ task: null, result: null });

  expect(await infoOf(id)).toMatchObject({
    id,
    name: "outer",
    version: 1,
    status: "RUNNING",
    input: { some: "input" },
    key: null,
    endedAt: null,
    pausedAt: null,
    counts: { total: 4, open: 3, completed: 1, failed: 0, skipped: 0 },
    error: null,
    parent: null,
    rootId: id,
  });
  expect(await infoOf(deep?.runId ?? "")).toMatchObject({
    name: "inner",
    parent: { id, node: "deep", item: null },
    rootId: id,
  });
});

test("a run that is nested in an item names the item", async () => {
  const inner = graph("inner", [node("core")]);
  const id = await runs.start([inner, graph("outer", [each("items", undefined, inner)])], [1, 2]);
  const listed = await withDatabase(db, (database) =>
    listWorkflows(database, { nested: true, before: LAST, limit: 10 }),
  );

  expect(new Set(listed.map(({ parent }) => parent?.item))).toEqual(new Set([0, 1, undefined]));
  expect(new Set(listed.map(({ rootId }) => rootId))).toEqual(new Set([id]));
});

test("a node that was started over shows its earlier state with its attempts", async () => {
  const id = await runs.start(graph("again", [node("a"), node("b", "a"), node("c", "a?")]));
  const first = await begin("a");
  await failOnce(first);
  await db.sql("select posthaste.fail($1, 'BROKEN')", [first]);
  await runs.complete("c");
  await db.sql("select posthaste.retry_workflow($1, '{a}')", [id]);
  const second = await runs.complete("a", "at last");

  const [a, b] = await nodesOf(id);
  expect(a).toMatchObject({
    status: "COMPLETED",
    taskId: second,
    result: { ok: true, value: "at last" },
    earlier: [{ status: "FAILED", taskId: first, error: { code: "BROKEN" } }],
  });
  expect(a?.earlier[0]?.attempts.map(({ attempt, errorCode }) => [attempt, errorCode])).toEqual([
    [1, "BUSY"],
  ]);
  expect(a?.earlier[0]?.endedAt).toEqual(expect.any(Date));
  expect(b).toMatchObject({ status: "ENQUEUED", earlier: [{ status: "SKIPPED", taskId: null }] });
});

test("a fan-out that is started over twice keeps every task that it ever had", async () => {
  const id = await runs.start(graph("twice", [node("a"), each("items", "a?")]));
  for (const isLast of [false, false, true]) {
    await runs.fail("a", "BROKEN", ["the items", "are in its error"]);
    await runs.complete("items[0]");
    await runs.complete("items[1]");
    if (!isLast) await db.sql("select posthaste.retry_workflow($1, '{a}')", [id]);
  }

  expect((await nodesOf(id))[1]).toMatchObject({ status: "COMPLETED", earlier: [{}, {}] });
  const kept = await db.sql("select from posthaste.earlier_nodes where item >= 0");
  expect(kept).toHaveLength(4);
});

test("readNodeResults() returns the results of ended nodes, and none of gates", async () => {
  const id = await runs.start(
    graph("some", [node("a"), node("b"), node("c", "b"), any("$any1", "a", "b"), node("d", "a")]),
  );
  await runs.complete("a", { n: 1 });
  await runs.fail("b", "BROKEN");

  expect(await withDatabase(db, (database) => readNodeResults(database, id))).toEqual({
    a: { ok: true, value: { n: 1 } },
    b: { ok: false, error: { code: "BROKEN", message: "it broke" } },
    c: {
      ok: false,
      error: {
        code: "UPSTREAM_SKIPPED",
        message: 'node "c" was skipped',
        data: { node: "c" },
      },
    },
  });
});

const LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff";

test("listWorkflows() lists runs newest first, page by page, by name and by status", async () => {
  const one = graph("one", [node("a")]);
  const two = graph("two", [node("b")]);
  for (const started of [one, two, one]) await runs.start(started);
  const paused = await runs.start(two);
  await db.sql("select posthaste.pause_workflow($1)", [paused]);
  const failed = await runs.start(one);
  await db.sql("select posthaste.fail($1, 'NO')", [await taskOf(failed)]);
  const list = (filter: object) =>
    withDatabase(db, async (database) => {
      const all = await listWorkflows(database, {
        nested: false,
        before: LAST,
        limit: 10,
        ...filter,
      });
      return all.map(({ id, name, status }) => ({ id, name, status }));
    });

  const all = await list({});
  expect(all.map(({ id }) => id)).toEqual(
    all
      .map(({ id }) => id)
      .toSorted()
      .toReversed(),
  );
  expect(all).toHaveLength(5);
  expect(await list({ limit: 2 })).toEqual(all.slice(0, 2));
  expect(await list({ limit: 2, before: all[1]?.id })).toEqual(all.slice(2, 4));
  expect(await list({ name: "two" })).toEqual(all.filter(({ name }) => name === "two"));
  expect(await list({ status: "PAUSED" })).toEqual([{ id: paused, name: "two", status: "PAUSED" }]);
  expect(await list({ status: "FAILED" })).toEqual([{ id: failed, name: "one", status: "FAILED" }]);
  expect(await list({ status: "RUNNING" })).toHaveLength(3);
  expect(await list({ status: "RUNNING", name: "two" })).toHaveLength(1);
  expect(await list({ status: "COMPLETED" })).toEqual([]);
});

async function taskOf(run: string): Promise<string> {
  const [row] = await db.sql<{ id: string }>(
    "select task_id as id from posthaste.submissions where workflow_id = $1",
    [run],
  );
  return row?.id ?? "";
}
