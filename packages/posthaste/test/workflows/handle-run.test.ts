/** The handle of a run: waits for it, reads it, steers it. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  defineTask,
  defineWorkflow,
  PosthasteError,
  WorkflowFailedError,
  type Posthaste,
} from "../../src/index.ts";
import { recordEvents } from "../hooks/recorded-events.ts";
import { useDatabase } from "../support/database.ts";
import { graph, nested, node } from "./small-graphs.ts";
import { useRuns } from "./use-runs.ts";

const db = useDatabase();
const runs = useRuns(db);

const taskA = defineTask({ name: "a", run: (): number => 1 });
const taskB = defineTask({ name: "b", errors: ["BROKEN"], run: (): string => "" });
/** The workflow of the stored graph: b follows a, c follows b. */
const chain = defineWorkflow({
  name: "chain",
  build: (flow) => {
    const a = flow.node("a", taskA);
    const b = flow.node("b", taskB, undefined, { after: a });
    const c = flow.node("c", taskB, undefined, { after: b });
    return flow.output(c.output, [a, b]);
  },
});
const stored = graph("chain", [node("a"), node("b", "a"), node("c", "b")]);

async function started(app: Posthaste = db.app()) {
  const id = await runs.start(stored);
  return app.workflow(chain, id);
}

async function endAll(): Promise<void> {
  for (const each of ["a", "b", "c"]) await runs.complete(each, `said by ${each}`);
}

async function waiters(): Promise<number> {
  return (await db.sql("select from posthaste.waiters")).length;
}

test("result() resolves by a notification when the run ends, without a poll", async () => {
  const run = await started(db.app({ resilience: { notifyPollIntervalMs: 300_000 } }));
  const result = run.result({ timeoutMs: 30_000 });
  await expect.poll(waiters).toBe(1);
  await endAll();
  // The session that ends the last task notifies the waiters of the run.
  await db.sql("select posthaste.notify_waiters(array[$1::uuid])", [run.id]);

  expect(await result).toEqual({ ok: true, value: "said by c" });
  expect(await waiters()).toBe(0);
  expect(await run.result()).toEqual({ ok: true, value: "said by c" });
  expect(await run.value()).toBe("said by c");
  expect(await run.status()).toBe("COMPLETED");
});

test("result() resolves to the error of a failed run, and value() throws it", async () => {
  const run = await started();
  await runs.fail("a", "BROKEN");

  const result = await run.result();
  expect(result).toMatchObject({
    ok: false,
    error: { code: "WORKFLOW_FAILED", data: { node: "a", error: { code: "BROKEN" } } },
  });
  const thrown = await run.value().catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(WorkflowFailedError);
  expect(thrown).toMatchObject({ code: "WORKFLOW_FAILED", workflowId: run.id });
});

test("result() waits for a paused run", async () => {
  const run = await started();
  expect(await run.pause()).toBe(true);
  const result = run.result({ timeoutMs: 30_000 });
  await expect.poll(waiters).toBe(1);
  await expect(run.result({ timeoutMs: 50 })).rejects.toMatchObject({
    code: "WAIT_TIMEOUT",
    message: `run ${run.id} has not ended within 50 ms; it may still do so`,
  });
  expect(await run.resume()).toBe(true);
  expect(await run.cancel()).toBe("cancelled");

  expect(await result).toMatchObject({ error: { code: "WORKFLOW_CANCELLED" } });
});

test("result() rejects when its signal aborts, and refuses a negative timeout", async () => {
  const run = await started();
  const stop = new AbortController();
  const result = run.result({ signal: stop.signal });
  stop.abort(new Error("enough"));

  await expect(result).rejects.toThrow("enough");
  await expect(run.result({ timeoutMs: -1 })).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
});

test("results() and resultFor() return the results of ended nodes while the run goes on", async () => {
  const run = await started();
  expect(await run.results()).toEqual({});
  expect(await run.resultFor("a")).toBeNull();
  await runs.complete("a", 1);

  expect(await run.results()).toEqual({ a: { ok: true, value: 1 } });
  expect(await run.resultFor("a")).toEqual({ ok: true, value: 1 });
  expect(await run.resultFor("b")).toBeNull();
  expect((await run.nodes()).map(({ id, status }) => [id, status])).toEqual([
    ["a", "COMPLETED"],
    ["b", "ENQUEUED"],
    ["c", "PENDING"],
  ]);
  expect(await run.info()).toMatchObject({ id: run.id, counts: { total: 3, completed: 1 } });
});

test("resultFor() refuses a node that the run does not have, with the nearest name", async () => {
  const app = db.app();
  const id = await runs.start(graph("names", [node("fetch-order"), node("ship")]));
  const run = app.workflow(chain, id);

  await expect(run.resultFor("fetch-oder" as "a")).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
    message: `there is no result to read: node: run ${id} has no node "fetch-oder"; did you mean "fetch-order"?`,
  });
  await expect(run.resultFor("something else" as "a")).rejects.toThrow(
    "its nodes are fetch-order, ship",
  );
});

test("pause() and resume() return whether they changed the run", async () => {
  const run = await started();
  expect(await run.resume()).toBe(false);
  expect(await run.pause()).toBe(true);
  expect(await run.pause()).toBe(false);
  expect(await run.status()).toBe("PAUSED");
  expect(await runs.lined()).toEqual([]);
  expect(await run.resume()).toBe(true);
  expect(await runs.lined()).toEqual(["a"]);
  await endAll();
  expect(await run.pause()).toBe(false);
  expect(await run.resume()).toBe(false);
});

test("cancel() returns cancelled or finished, and notifies hooks and waiters of tasks that waited in the queue", async () => {
  const { hooks, about } = recordEvents();
  const app = db.app({ hooks });
  const run = await started(app);
  const task = await runs.task("a");
  const told = app.task(taskA, task).result({ timeoutMs: 30_000 });
  await expect.poll(waiters).toBe(1);

  expect(await run.cancel()).toBe("cancelled");
  expect(await told).toMatchObject({ error: { code: "TASK_CANCELLED" } });
  expect(await run.cancel()).toBe("finished");
  expect(await runs.nodes(run.id)).toEqual({ a: "SKIPPED", b: "SKIPPED", c: "SKIPPED" });
  await expect.poll(() => about(task)).toEqual(["taskCancelled"]);
});

test("cancel() of a run with a running task is only requested", async () => {
  const run = await started();
  await db.sql(
    `with gone as (delete from posthaste.ready_tasks returning *)
     insert into posthaste.active_tasks (task_id, claim_id, worker_id, enqueued_at, started_at, attempt_no)
     select task_id, gen_random_uuid(), gen_random_uuid(), enqueued_at, clock_timestamp(), 1 from gone`,
  );
  expect(await run.cancel()).toBe("requested");
  expect(await run.cancel()).toBe("requested");
  await db.sql("select posthaste.requeue(task_id) from posthaste.active_tasks");

  expect(await run.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "WORKFLOW_CANCELLED" },
  });
  expect(await runs.nodes(run.id)).toEqual({ a: "FAILED", b: "SKIPPED", c: "SKIPPED" });
});

test("retryFrom() starts a failed node over, and value() returns the new result", async () => {
  const run = await started();
  await runs.complete("a");
  await runs.fail("b");
  expect(await run.result()).toMatchObject({ ok: false });

  await run.retryFrom("b");
  expect(await run.status()).toBe("RUNNING");
  await runs.complete("b");
  await runs.complete("c", "after all");
  expect(await run.value()).toBe("after all");
});

test("retryFrom() refuses a node or run that it cannot start over, with the reason", async () => {
  const app = db.app();
  const refusal = async (name: string, of = run): Promise<string> => {
    const error: unknown = await of.retryFrom(name as "a").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PosthasteError);
    expect(error).toMatchObject({ code: "VALIDATION_FAILED" });
    return (error as Error).message;
  };
  const run = await started(app);
  expect(await refusal("a")).toContain(
    `found that run ${run.id} is RUNNING: wait until it has ended, or pause() it first`,
  );
  await runs.complete("a");
  await runs.fail("b");
  expect(await refusal("a")).toContain('found that "a" is COMPLETED: name the node that failed');
  expect(await refusal("bb")).toContain("has no node");
  await expect((run.retryFrom as () => Promise<void>)()).rejects.toThrow("a list of such ids");

  const inner = graph("inner", [node("core")]);
  const outer = await runs.start([inner, graph("outer", [nested("deep", inner)])]);
  const child = (await app.workflow(chain, outer).nodes())[0]?.runId ?? "";
  await runs.fail("core");
  expect(await refusal("core", app.workflow(chain, child))).toContain(`as a part of run ${outer}`);

  const side = await runs.start(graph("side", [node("x"), node("y", "x?")], { onError: "pause" }));
  await runs.fail("x");
  await db.sql("select posthaste.resume_workflow($1)", [side]);
  await db.sql(
    `with gone as (delete from posthaste.ready_tasks returning *)
     insert into posthaste.active_tasks (task_id, claim_id, worker_id, enqueued_at, started_at, attempt_no)
     select task_id, gen_random_uuid(), gen_random_uuid(), enqueued_at, clock_timestamp(), 1 from gone`,
  );
  await db.sql("select posthaste.pause_workflow($1)", [side]);
  expect(await refusal("x", app.workflow(chain, side))).toContain(
    'node "y", which would start over too, is still running',
  );

  const cancelled = await started(app);
  await cancelled.cancel();
  expect(await refusal("a", cancelled)).toContain("a cancelled run stays cancelled");
});

test("every method of a handle rejects with WORKFLOW_NOT_FOUND if the run does not exist", async () => {
  const run = db.app().workflow(chain, randomUUID());
  const asked = [
    run.status(),
    run.result(),
    run.value(),
    run.results(),
    run.resultFor("a"),
    run.nodes(),
    run.info(),
    run.pause(),
    run.resume(),
    run.cancel(),
    run.retryFrom("a"),
  ];

  expect(await Promise.allSettled(asked)).toMatchObject(
    asked.map(() => ({ reason: { code: "WORKFLOW_NOT_FOUND", retryable: false } })),
  );
});

test("workflow() refuses an invalid id", () => {
  expect(() => db.app().workflow(chain, "7")).toThrow("there is no such run");
});
