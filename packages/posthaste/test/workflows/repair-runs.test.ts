/** Every way in which a run can be stuck, made by hand: the repair finds it once, and the run goes on by the normal path. */
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { each, graph, nested, node } from "./small-graphs.ts";
import { useRuns } from "./use-runs.ts";

const db = useDatabase();
const runs = useRuns(db);

const chain = graph("chain", [node("a"), node("b", "a"), node("c", "a?")]);
const inner = graph("inner", [node("core")]);

/** Repairs once and returns the findings. A second pass finds nothing. */
async function repaired(): Promise<readonly (readonly string[])[]> {
  const { admin } = db.app();
  const planned = await admin.recoverStuckWorkflows({ dryRun: true });
  const { workflowIds, repairs } = await admin.recoverStuckWorkflows();
  expect(planned).toEqual({ workflowIds, repairs });
  expect(workflowIds).toEqual(repairs.map(({ workflowId }) => workflowId));
  expect(await admin.recoverStuckWorkflows()).toEqual({ workflowIds: [], repairs: [] });
  return repairs.map(({ found }) => found);
}

/** Ends a task without advancing its run. */
async function endSilently(name: string, status: string, stored: string): Promise<void> {
  await db.sql(
    `with gone as (delete from posthaste.ready_tasks where task_id = $1 returning *)
     insert into posthaste.finished_tasks (task_id, enqueued_at, finished_at, status, error_code, result, error)
     select task_id, enqueued_at, clock_timestamp(), nullif($2, 'COMPLETED'), case $2 when 'COMPLETED' then null else 'LOST' end,
            case $2 when 'COMPLETED' then $3::jsonb end, case $2 when 'COMPLETED' then null else $3::jsonb end
       from gone`,
    [await runs.task(name), status, stored],
  );
}

const said = '{"code": "SAID", "message": "said so"}';

test.each([
  ["COMPLETED", "7", { ok: true, value: 7 }, "ENQUEUED"],
  ["COMPLETED", null, { ok: false, error: { code: "RESULT_NOT_AVAILABLE" } }, "SKIPPED"],
  ["FAILED", said, { ok: false, error: { code: "SAID" } }, "SKIPPED"],
  ["FAILED", null, { ok: false, error: { code: "WORKER_CRASHED" } }, "SKIPPED"],
  ["CANCELLED", null, { ok: false, error: { code: "TASK_CANCELLED" } }, "SKIPPED"],
  ["EXPIRED", null, { ok: false, error: { code: "TASK_EXPIRED" } }, "SKIPPED"],
])(
  "recoverStuckWorkflows() ends the node of a task that ended %s with %s",
  async (status, stored, result, follower) => {
    const id = await runs.start(chain);
    await endSilently("a", status, stored as string);

    expect(await repaired()).toEqual([["task ended"]]);
    const a = result.ok ? "COMPLETED" : "FAILED";
    expect(await runs.nodes(id)).toEqual({ a, b: follower, c: "ENQUEUED" });
    const [row] = await db.sql("select result from posthaste.workflow_results($1, '{a}')", [id]);
    expect(row).toMatchObject({ result });
  },
);

test("recoverStuckWorkflows() ends the item of a task that ended", async () => {
  const id = await runs.start(graph("fan", [each("items"), node("next", "items")]), [1, 2]);
  await runs.complete("items[0]");
  await endSilently("items[1]", "COMPLETED", "2");

  expect(await repaired()).toEqual([["task ended"]]);
  expect(await runs.nodes(id)).toMatchObject({ items: "COMPLETED", next: "ENQUEUED" });
});

test("recoverStuckWorkflows() sends the task of a READY node", async () => {
  const id = await runs.start(chain);
  const task = await runs.task("a");
  await db.sql("delete from posthaste.ready_tasks");
  await db.sql("delete from posthaste.submissions");
  await db.sql(
    "update posthaste.workflow_nodes set status = 'READY', task_id = null where node_no = 0",
  );

  expect(await repaired()).toEqual([["ready and not sent"]]);
  expect(await runs.task("a")).not.toBe(task);
  await runs.complete("a");
  expect(await runs.lined()).toEqual(["b", "c"]);
  expect(await runs.status(id)).toBe("RUNNING");
});

test("recoverStuckWorkflows() sends the task of a READY item", async () => {
  await runs.start(graph("fan", [each("items")]), ["x", "y"]);
  const task = await runs.task("items[1]");
  await db.sql("delete from posthaste.ready_tasks where task_id = $1", [task]);
  await db.sql("delete from posthaste.submissions where task_id = $1", [task]);
  await db.sql(
    "update posthaste.workflow_nodes set status = 'READY', task_id = null where task_id = $1",
    [task],
  );

  expect(await repaired()).toEqual([["ready and not sent"]]);
  const [row] = await db.sql("select input from posthaste.submissions where node = 'items[1]'");
  expect(row).toEqual({ input: "y" });
});

test("recoverStuckWorkflows() starts the run of a READY nested workflow", async () => {
  const id = await runs.start([inner, graph("outer", [nested("deep", inner)])]);
  await forgetNested();
  await db.sql(
    "update posthaste.workflow_nodes set status = 'READY', child_id = null where workflow_id = $1",
    [id],
  );

  expect(await repaired()).toEqual([["ready and not sent"]]);
  await runs.complete("core");
  expect(await runs.status(id)).toBe("COMPLETED");
});

test("recoverStuckWorkflows() starts a nested workflow again if its run is gone", async () => {
  const id = await runs.start([inner, graph("outer", [nested("deep", inner)])]);
  await forgetNested();

  expect(await repaired()).toEqual([["nested run ended"]]);
  await runs.complete("core");
  expect(await runs.status(id)).toBe("COMPLETED");
});

async function forgetNested(): Promise<void> {
  await db.sql("delete from posthaste.ready_tasks");
  await db.sql("delete from posthaste.submissions");
  const nestedRuns = "(select workflow_id from posthaste.workflows where parent_id is not null)";
  for (const table of ["workflow_nodes", "workflow_states", "workflows"])
    await db.sql(`delete from posthaste.${table} where workflow_id in ${nestedRuns}`);
}

test.each(["COMPLETED", "FAILED"])(
  "recoverStuckWorkflows() ends the node of a nested run that ended %s",
  async (status) => {
    const id = await runs.start([
      inner,
      graph("outer", [nested("deep", inner), node("next", "deep")]),
    ]);
    await (status === "COMPLETED" ? runs.complete("core") : runs.fail("core"));
    // As if the end of the nested run had not advanced the outer run.
    await db.sql(
      "delete from posthaste.ready_tasks using posthaste.submissions where node = 'next'",
    );
    await db.sql("delete from posthaste.submissions where node = 'next'");
    await db.sql(
      `update posthaste.workflow_nodes set status = case node_no when 0 then 'RUNNING' else 'PENDING' end,
              ended_at = null, deps_met = 0, deps_failed = 0, error = null, task_id = null
        where workflow_id = $1`,
      [id],
    );
    await db.sql(
      `update posthaste.workflow_states
          set status = 'RUNNING', ended_at = null, result = null, error = null, open_nodes = 2, completed = 0, failed = 0,
              failed_required = 0, skipped = 0
        where workflow_id = $1`,
      [id],
    );

    expect(await repaired()).toEqual([["nested run ended"]]);
    expect(await runs.nodes(id)).toEqual(
      status === "COMPLETED"
        ? { deep: "COMPLETED", next: "ENQUEUED" }
        : { deep: "FAILED", next: "SKIPPED" },
    );
  },
);

test("recoverStuckWorkflows() starts nodes that wait although their needs have ended", async () => {
  const id = await runs.start(chain);
  await runs.complete("a");
  await db.sql("delete from posthaste.ready_tasks");
  await db.sql("delete from posthaste.submissions where node <> 'a'");
  await db.sql(
    "update posthaste.workflow_nodes set status = 'PENDING', task_id = null, deps_met = 0 where node_no > 0",
  );

  expect(await repaired()).toEqual([["nothing to wait for"]]);
  expect(await runs.nodes(id)).toEqual({ a: "COMPLETED", b: "ENQUEUED", c: "ENQUEUED" });
});

test("recoverStuckWorkflows() ends a run whose nodes have all ended", async () => {
  const id = await runs.start(graph("one", [node("a")]));
  await runs.complete("a", "its result");
  await db.sql(
    "update posthaste.workflow_states set status = 'RUNNING', ended_at = null, result = null, open_nodes = 1",
  );

  expect(await repaired()).toEqual([["all nodes ended"]]);
  expect(await db.app().admin.workflows.get(id)).toMatchObject({ status: "COMPLETED" });
  const [row] = await db.sql("select result from posthaste.workflow_states");
  expect(row).toEqual({ result: "its result" });
});

test("recoverStuckWorkflows() ends a run as CANCELLED if its nodes have all ended during its cancellation", async () => {
  const id = await runs.start(graph("one", [node("a")]));
  await db.sql("select posthaste.cancel_workflow($1)", [id]);
  await db.sql(
    "update posthaste.workflow_states set status = 'PAUSED', ended_at = null, error = null",
  );

  expect(await repaired()).toEqual([["all nodes ended"]]);
  expect(await runs.status(id)).toBe("CANCELLED");
});

test("recoverStuckWorkflows() starts no node of a run that is being cancelled", async () => {
  const id = await runs.start(graph("two", [node("a"), node("b")]));
  await db.sql(
    "update posthaste.workflow_states set cancel_requested_at = now() where workflow_id = $1",
    [id],
  );
  await endSilently("a", "COMPLETED", "1");
  const b = await runs.task("b");
  await db.sql("delete from posthaste.ready_tasks");
  await db.sql("delete from posthaste.submissions where task_id = $1", [b]);
  await db.sql(
    "update posthaste.workflow_nodes set status = 'READY', task_id = null where node_no = 1",
  );

  expect(await repaired()).toEqual([["task ended", "ready and not sent"]]);
  expect(await runs.nodes(id)).toEqual({ a: "COMPLETED", b: "SKIPPED" });
  expect(await runs.status(id)).toBe("CANCELLED");
});

test("recoverStuckWorkflows() fails a run that has no nodes", async () => {
  const id = await runs.start(graph("one", [node("a")]));
  for (const table of ["ready_tasks", "submissions", "workflow_nodes"])
    await db.sql(`delete from posthaste.${table}`);
  const result = db.app().admin.workflows.get(id);
  expect(await result).toMatchObject({ status: "RUNNING", nodes: [] });

  expect(await repaired()).toEqual([["no nodes", "all nodes ended"]]);
  expect(await db.app().admin.workflows.get(id)).toMatchObject({
    status: "FAILED",
    error: { code: "WORKFLOW_FAILED", message: "the run has no nodes: its rows are gone" },
  });
});

test("recoverStuckWorkflows() fails a node whose task is gone", async () => {
  const id = await runs.start(chain);
  await db.sql("delete from posthaste.ready_tasks");
  await db.sql("delete from posthaste.submissions");

  expect(await repaired()).toEqual([["task gone"]]);
  expect(await runs.nodes(id)).toEqual({ a: "FAILED", b: "SKIPPED", c: "ENQUEUED" });
  const [row] = await db.sql("select result from posthaste.workflow_results($1, '{a}')", [id]);
  expect(row).toMatchObject({ result: { error: { code: "RESULT_NOT_AVAILABLE" } } });
});

test("recoverStuckWorkflows() ends a fan-out whose items have all ended", async () => {
  const id = await runs.start(graph("fan", [each("items"), node("next", "items?")]), [1, 2]);
  await runs.complete("items[0]");
  await runs.fail("items[1]");
  await db.sql("delete from posthaste.ready_tasks");
  await db.sql("delete from posthaste.submissions where node = 'next'");
  await db.sql(
    `update posthaste.workflow_nodes
        set status = case when node_no = 0 then 'RUNNING' else 'PENDING' end, task_id = null, ended_at = null, deps_met = 0,
            items_left = case when node_no = 0 then 1 end, items_failed = case when node_no = 0 then 0 end
      where item = -1`,
  );
  await db.sql(
    "update posthaste.workflow_states set open_nodes = 2, failed = 0, failed_required = 0",
  );

  expect(await repaired()).toEqual([["items ended"]]);
  expect(await runs.nodes(id)).toMatchObject({ items: "FAILED", next: "ENQUEUED" });
});

test("recoverStuckWorkflows() makes the items of a fan-out again if they are gone", async () => {
  const id = await runs.start(graph("fan", [each("items")]), [1, 2]);
  for (const table of ["ready_tasks", "submissions"])
    await db.sql(`delete from posthaste.${table}`);
  await db.sql("delete from posthaste.workflow_nodes where item >= 0");

  expect(await repaired()).toEqual([["items ended"]]);
  await runs.complete("items[0]", "x");
  await runs.complete("items[1]", "y");
  expect(await runs.status(id)).toBe("COMPLETED");
});

test("recoverStuckWorkflows() repairs a paused run, which stays paused", async () => {
  const id = await runs.start(graph("two", [node("a"), node("b", "a")]));
  const a = await runs.task("a");
  await db.sql(
    `with gone as (delete from posthaste.ready_tasks returning *)
     insert into posthaste.active_tasks (task_id, claim_id, worker_id, enqueued_at, started_at, attempt_no)
     select task_id, gen_random_uuid(), gen_random_uuid(), enqueued_at, clock_timestamp(), 1 from gone`,
  );
  await db.sql("select posthaste.pause_workflow($1)", [id]);
  await db.sql(
    `with gone as (delete from posthaste.active_tasks where task_id = $1 returning *)
     insert into posthaste.finished_tasks (task_id, enqueued_at, started_at, finished_at, result, attempt_no, worker_id)
     select task_id, enqueued_at, started_at, clock_timestamp(), '1', attempt_no, worker_id from gone`,
    [a],
  );

  expect(await repaired()).toEqual([["task ended"]]);
  expect(await runs.nodes(id)).toEqual({ a: "COMPLETED", b: "READY" });
  expect(await db.app().admin.workflows.resume(id)).toBe(true);
  expect(await runs.lined()).toEqual(["b"]);
});
