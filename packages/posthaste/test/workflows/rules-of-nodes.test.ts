/** The promises of docs/guides/workflows.md about nodes, sentence by sentence, with real workers and the public API. */
import { expect, vi } from "vitest";
import { defineTask, defineWorkflow, fail, fixed } from "../../src/index.ts";
import { waitUntil } from "../support/wait-until.ts";
import { broken, held, look, outer, promise, statuses, step, useScene } from "./scene.ts";

const scene = useScene();
vi.setConfig({ testTimeout: 30_000 });

promise(
  "a FAILED node stops nothing but what needs its success. When all nodes have ended, the run is FAILED.",
  async () => {
    const workflow = defineWorkflow({
      name: "branches",
      build: (flow) => {
        const a = flow.node("a", step, { do: "a" });
        const after = flow.node("after-a", step, { do: "after-a" }, { after: [a] });
        const b = flow.node("b", step, { do: "b" });
        const c = flow.node("c", step, { do: "c" }, { after: [b] });
        return flow.output(c.output, [after]);
      },
    });
    scene.bodies = { a: broken };
    const run = await scene.app.start(workflow);
    expect(await run.result()).toMatchObject({
      ok: false,
      error: { code: "WORKFLOW_FAILED", data: { node: "a" } },
    });
    expect(await statuses(run)).toEqual({
      a: "FAILED",
      "after-a": "SKIPPED",
      b: "COMPLETED",
      c: "COMPLETED",
    });
    expect(await run.status()).toBe("FAILED");
  },
);

promise(
  'A node that only needs its end (`.result`) runs, and gets `{ ok: false, error: { code: "UPSTREAM_SKIPPED" } }`.',
  async () => {
    const workflow = defineWorkflow({
      name: "sentinel",
      build: (flow) => {
        const a = flow.node("a", step, { do: "a" });
        const b = flow.node("b", step, { do: "b" }, { after: [a] });
        return flow.node("c", look, { at: b.result }).output;
      },
    });
    scene.bodies = { a: broken };
    const run = await scene.app.start(workflow);
    await run.result();
    expect(await run.resultFor("c")).toMatchObject({
      ok: true,
      value: { ok: false, error: { code: "UPSTREAM_SKIPPED" } },
    });
  },
);

promise("too few sources of a quorum can still succeed", async () => {
  const workflow = defineWorkflow({
    name: "quorum",
    build: (flow) => {
      const sources = ["a", "b", "c"].map((id) => flow.node(id, step, { do: id }));
      const enough = flow.quorum(2, sources);
      return flow.node("d", look, { at: enough.output }).output;
    },
  });
  scene.bodies = { a: broken, b: broken };
  const run = await scene.app.start(workflow);
  await run.result();
  expect(await statuses(run)).toMatchObject({ c: "COMPLETED", d: "SKIPPED" });
  expect(scene.ran).not.toContain("d");

  scene.bodies = { a: broken };
  const other = await scene.app.start(workflow);
  await other.result();
  expect(await other.resultFor("d")).toEqual({ ok: true, value: ["b", "c"] });
});

promise(
  "A join starts its dependents as soon as it is met; the other sources continue, and the dependents do not wait for them.",
  async () => {
    const slow = held();
    scene.bodies = { slow: slow.body };
    const workflow = defineWorkflow({
      name: "first-of-two",
      build: (flow) => {
        const first = flow.any([
          flow.node("slow", step, { do: "slow" }),
          flow.node("fast", step, { do: "fast" }),
        ]);
        return flow.node("next", look, { at: first.output }).output;
      },
    });
    const run = await scene.app.start(workflow);
    await waitUntil("the join's follower", async () => (await run.resultFor("next")) !== null);
    expect(await run.resultFor("next")).toEqual({ ok: true, value: "fast" });
    expect(await run.status()).toBe("RUNNING");
    slow.end.open();
    expect(await run.result()).toEqual({ ok: true, value: "fast" });
  },
);

promise("with no items, at once.", async () => {
  const workflow = defineWorkflow({
    name: "no-items",
    build: (flow) => {
      const list = flow.node("list", step, { do: "list" });
      // A string in the types, an empty list at run time.
      const each = flow.each("each", step, list.output as never, (item) => ({ do: item as never }));
      return flow.node("count", look, { at: each.output as never }).output;
    },
  });
  scene.bodies = { list: () => [] };
  const run = await scene.app.start(workflow);
  expect(await run.result()).toEqual({ ok: true, value: [] });
});

promise("A failed item stops no other.", async () => {
  const workflow = defineWorkflow({
    name: "items",
    build: (flow) => {
      const list = flow.node("list", step, { do: "list" });
      const each = flow.each("each", step, list.output as never, (item) => ({ do: item as never }));
      return flow.node("seen", look, { at: each.results as never }).output;
    },
  });
  scene.bodies = { list: () => ["x", "y", "z"], y: broken };
  const run = await scene.app.start(workflow);
  expect(await run.result()).toMatchObject({
    ok: false,
    error: { data: { node: "each", error: { code: "WORKFLOW_ITEMS_FAILED" } } },
  });
  const seen = await run.resultFor("seen" as never);
  expect(seen).toMatchObject({
    ok: true,
    value: [
      { ok: true, value: "x" },
      { ok: false, error: { code: "BROKEN" } },
      { ok: true, value: "z" },
    ],
  });
});

promise(
  "COMPLETED with its output, or FAILED with `SUBWORKFLOW_FAILED` if it FAILED or was CANCELLED.",
  async () => {
    const good = await scene.app.start(outer);
    expect(await good.result()).toEqual({ ok: true, value: "x" });

    scene.bodies = { x: broken };
    const bad = await scene.app.start(outer);
    expect(await bad.result()).toMatchObject({ ok: false, error: { data: { node: "nested" } } });
    expect(await bad.resultFor("nested")).toMatchObject({
      ok: false,
      error: {
        code: "SUBWORKFLOW_FAILED",
        data: { status: "FAILED", error: { code: "WORKFLOW_FAILED" } },
      },
    });
    expect(await statuses(bad)).toMatchObject({ follower: "SKIPPED", watcher: "COMPLETED" });
  },
);

promise("While the task is tried again, the node is RUNNING.", async () => {
  const retrying = defineTask({
    name: "retrying",
    queue: "apart", // the scene's own worker does not know it
    errors: ["BROKEN"],
    retry: fixed({ intervalsMs: [60_000], retryFor: "any" }),
    run: () => fail("BROKEN"),
  });
  const other = scene.db.app({ tasks: [retrying] });
  await other.worker({ concurrency: 1, queues: ["apart"] }).start();
  const workflow = defineWorkflow({
    name: "retries",
    build: (flow) => flow.node("r", retrying).output,
  });
  const run = await other.start(workflow);
  const taskId = (await run.nodes())[0]?.taskId ?? "";
  await waitUntil("the retry to wait", async () => {
    const { status, attempts } = await other.task(retrying, taskId).info();
    return status === "PENDING" && attempts.length === 1;
  });
  expect(await statuses(run)).toEqual({ r: "RUNNING" });
  expect(await run.cancel()).toBe("cancelled");
  expect((await run.nodes())[0]?.result).toMatchObject({
    ok: false,
    error: { code: "TASK_CANCELLED" },
  });
});
