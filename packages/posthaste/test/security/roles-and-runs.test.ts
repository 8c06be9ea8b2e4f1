/** The roles that `posthaste roles` prints start, steer, advance and repair runs. */
import { expect, test } from "vitest";
import { defineTask, defineWorkflow } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { graph, node } from "../workflows/small-graphs.ts";
import { useRoles } from "./roles.ts";

const db = useDatabase({ isEmpty: true });
const roles = useRoles(db);
const { schema, as, client } = roles;
const NIL = "00000000-0000-0000-0000-000000000000";

test("the worker advances and repairs runs that the producer starts and steers", async () => {
  const text = JSON.stringify(graph("of-roles", [node("note"), node("next", "note")]));
  const [{ id }] = (await as(
    "producer",
    `select ${schema}.start_workflows(array[gen_random_uuid()], array[${schema}.store_graph('of-roles', $1)],
              '{"null"}', '{null}') -> 'started' ->> 0 as id`,
    [text],
  )) as [{ id: string }];
  const changed = async (call: string): Promise<unknown> =>
    ((await as("producer", `select ${schema}.${call} as said`, [id])) as [{ said: unknown }])[0]
      .said;

  expect(await changed("pause_workflow($1)")).toMatchObject({ changed: true });
  expect(await changed("resume_workflow($1)")).toMatchObject({ changed: true });
  const [{ task }] = (await as(
    "worker",
    `select task_id as task from ${schema}.submissions where workflow_id = $1`,
    [id],
  )) as [{ task: string }];
  const session = client("worker");
  await session.query("begin");
  await session.query(`select ${schema}.lock_runs_of(array[$1::uuid])`, [task]);
  await session.query(
    `with gone as (delete from ${schema}.ready_tasks where task_id = $1 returning *)
     insert into ${schema}.finished_tasks (task_id, enqueued_at, finished_at, result)
     select task_id, enqueued_at, clock_timestamp(), '1' from gone`,
    [task],
  );
  await session.query(`select ${schema}.advance_workflows(array[$1::uuid])`, [task]);
  await session.query("commit");
  expect(
    await as("worker", `select found from ${schema}.find_stuck_workflows($1, 10)`, [NIL]),
  ).toEqual([{ found: [] }]);
  await as("worker", `select ${schema}.repair_workflow($1)`, [id]);
  expect(await as("producer", `select * from ${schema}.workflow_results($1)`, [id])).toEqual([
    { node: "note", result: { ok: true, value: 1 } },
    { node: "next", result: null },
  ]);
  expect(await changed("cancel_workflow($1)")).toMatchObject({ answer: "cancelled" });
  expect(await changed("retry_workflow($1, '{note}')")).toMatchObject({ answer: "status" });
});

const list = defineTask({ name: "list", run: (): number[] => [1, 2, 3] });
const double = defineTask({ name: "double", run: (n: number): number => 2 * n });
const sum = defineTask({
  name: "sum",
  run: (input: { of: number[] }, ctx) =>
    ctx.transaction(async () => {
      const doubled = await ctx.workflow?.resultsFor("doubled", double);
      const listed = await ctx.workflow?.resultFor("listed", list);
      if (doubled?.length !== 3 || listed?.ok !== true) throw new Error("nothing to read");
      return input.of.reduce((total, each) => total + each, 0);
    }),
});
const inner = defineWorkflow({
  name: "inner",
  build: (flow) => flow.node("core", list).output,
});
const sums = defineWorkflow({
  name: "sums",
  build: (flow) => {
    const listed = flow.node("listed", list);
    const deep = flow.workflow("deep", inner, undefined, { after: listed });
    const doubled = flow.each("doubled", double, listed.output, (n) => n);
    const total = flow.node("total", sum, { of: doubled.output }, { after: deep });
    return flow.output(total.output, [listed, doubled, deep]);
  },
});

test("a producer starts a run that a worker advances, and reads its status and results", async () => {
  const config = { tasks: [list, double, sum], workflows: [sums] };
  const app = roles.app("producer", config);
  await roles.app("worker", config).worker().start();

  const run = await app.start(sums, undefined, { key: "one" });
  expect(await run.value({ timeoutMs: 30_000 })).toBe(12);
  expect(await run.status()).toBe("COMPLETED");
  expect(await run.resultFor("listed")).toEqual({ ok: true, value: [1, 2, 3] });
  expect(Object.keys(await run.results())).toEqual(["listed", "deep", "doubled", "total"]);
  expect(await run.info()).toMatchObject({ name: "sums", counts: { completed: 4 } });
  expect((await app.start(sums, undefined, { key: "one" })).id).toBe(run.id);
  expect(await run.cancel()).toBe("finished");
  // nodes() shows attempts and workers, which the producer may not read.
  await expect(run.nodes()).rejects.toThrow("permission denied");
});
