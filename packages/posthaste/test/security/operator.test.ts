/** The operator's role may do what operators do, under its own name, and no other role may. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { defineTask, defineWorkflow, fail } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { useRoles } from "./roles.ts";

const db = useDatabase({ isEmpty: true });
const roles = useRoles(db);
const { schema, as } = roles;

const once = defineTask({
  name: "once",
  errors: ["NO"],
  run: (text: string, ctx) => (ctx.attempt === 1 ? fail("NO") : text),
});
const flow = defineWorkflow({
  name: "flow",
  build: (builder) => builder.node("one", once, "x", { queue: "nobody" }).output,
});

describe("the operator", () => {
  test("lists, explains, retries, cancels, copies, moves and deletes tasks", async () => {
    const app = roles.app("operator", { tasks: [once], workflows: [flow] });
    const worker = await roles
      .app("worker", { tasks: [once] })
      .worker()
      .start();
    const handle = await roles.app("producer", { tasks: [once] }).send(once, "again");
    expect(await handle.result()).toMatchObject({ ok: false });

    const { tasks } = app.admin.as("ann");
    expect((await tasks.list({ status: "FAILED", name: "once" })).tasks).toHaveLength(1);
    expect(await tasks.retry(handle.id)).toBe("retried");
    expect(await handle.value()).toBe("again");
    await worker.stop();
    const copy = await tasks.sendAgain(handle.id, { queue: "nobody", delayMs: 60_000 });
    expect((await tasks.explain(copy)).gates).toMatchObject([
      { code: "NO_WORKER_FOR_QUEUE" },
      { code: "NOT_DUE" },
    ]);
    expect(await tasks.setPriority(copy, 1)).toBe("moved");
    expect(await tasks.runNow(copy)).toBe("moved");
    expect(await tasks.cancel(copy)).toBe("cancelled");
    expect(await tasks.retry({ queue: "nobody" })).toMatchObject({ changed: 1 });
    expect(await tasks.cancel({ queue: "nobody" })).toMatchObject({ changed: 1 });
    expect(await tasks.delete(copy)).toBe("deleted");

    const { actor } = (await app.admin.actions.list())[0] ?? {};
    expect(actor).toBe(`${schema}_operator`);
  });

  test("pauses queues and runs, sweeps, repairs and prunes", async () => {
    const app = roles.app("operator", { tasks: [once], workflows: [flow] });
    const { admin } = app;
    const run = await app.start(flow);

    expect(await admin.queues.pause("nobody")).toBe(true);
    expect(await admin.queues.resume("nobody")).toBe(true);
    expect(await admin.workflows.pause(run.id)).toBe(true);
    expect(await admin.workflows.resume(run.id)).toBe(true);
    expect(await admin.workflows.cancel(run.id)).toBe("cancelled");
    expect(await admin.sweepStaleWorkers()).toMatchObject({ recoveredCount: 0 });
    expect(await admin.recoverStaleRunning()).toMatchObject({ recoveredCount: 0 });
    expect(await admin.recoverStuckWorkflows()).toMatchObject({ workflowIds: [] });
    expect(await admin.prune()).toMatchObject({ terminalRecords: 0 });
  });

  test("can neither change an end by hand, nor the record of actions", async () => {
    for (const text of [
      `update ${schema}.finished_tasks set status = null`,
      `delete from ${schema}.finished_tasks`,
      `delete from ${schema}.submissions`,
      `update ${schema}.operator_actions set actor = 'another'`,
      `delete from ${schema}.operator_actions`,
      `insert into ${schema}.operator_actions (actor, action, filter) values ('another', 'x', '{}')`,
      `delete from ${schema}.task_retries`,
      `select ${schema}.retry_task(gen_random_uuid(), null, 'x')`,
    ])
      await expect(as("operator", text)).rejects.toMatchObject({ code: "42501" });
  });

  test("counts for no action of another role", async () => {
    const [row] = (await as("producer", `select id from ${schema}.begin_action('x')`)) as {
      id: string;
    }[];
    await expect(
      as("operator", `select ${schema}.count_action($1, 1, true)`, [row?.id]),
    ).rejects.toThrow("is not under way, or not one of role");
  });
});

test.each(["producer", "worker", "reader"] as const)(
  "the %s may do nothing of it",
  async (kind) => {
    const { admin } = roles.app(kind);
    const id = randomUUID();
    for (const call of [
      () => admin.tasks.retry(id),
      () => admin.tasks.sendAgain(id),
      () => admin.tasks.runNow(id),
      () => admin.tasks.setPriority(id, 1),
      () => admin.tasks.delete(id),
      () => admin.queues.pause("default"),
    ])
      await expect(call()).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    for (const text of [
      `select ${schema}.retry($1)`,
      `select ${schema}.retry_tasks(array[$1::uuid], null, 1)`,
      `select ${schema}.cancel_tasks(array[$1::uuid], 1)`,
    ])
      await expect(as(kind, text, [id])).rejects.toMatchObject({ code: "42501" });
  },
);

test("the worker may ask what its claims wrote, retries of operators included", async () => {
  await expect(as("worker", `select from ${schema}.task_retries`)).resolves.toBeDefined();
});
