/** The promises of docs/guides/workflows.md about runs, sentence by sentence, with real workers and the public API. */
import { expect, vi } from "vitest";
import { defineWorkflow } from "../../src/index.ts";
import { waitUntil } from "../support/wait-until.ts";
import {
  broken,
  brokenOnce,
  held,
  inner,
  look,
  outer,
  promise,
  statuses,
  step,
  useScene,
} from "./scene.ts";

const scene = useScene();
vi.setConfig({ testTimeout: 30_000 });

const chain = defineWorkflow({
  name: "chain",
  build: (flow) => {
    const a = flow.node("a", step, { do: "a" });
    const b = flow.node("b", step, { do: "b" }, { after: [a] });
    const c = flow.node("c", step, { do: "c" }, { after: [b] });
    return c.output;
  },
});

promise("when a node FAILED, the run is PAUSED, with the runs nested in it.", async () => {
  const workflow = defineWorkflow({
    name: "pausing",
    onError: "pause",
    build: (flow) => {
      const nested = flow.workflow("nested", inner);
      const a = flow.node("a", step, { do: "a" });
      const b = flow.node("b", step, { do: "b" }, { after: [a] });
      const audit = flow.node("audit", look, { at: a.result });
      return flow.output(b.output, [audit, nested]);
    },
  });
  const [inside, failing] = [held(), held()];
  scene.bodies = { x: inside.body, a: async (ctx) => (await failing.body(ctx), broken(ctx)) };
  const run = await scene.app.start(workflow);
  await Promise.all([inside.begun.opened, failing.begun.opened]);
  failing.end.open();
  await waitUntil("the pause", async () => (await run.status()) === "PAUSED");
  const child = (await run.nodes()).find(({ id }) => id === "nested")?.runId ?? "";
  expect(await scene.app.workflow(inner, child).status()).toBe("PAUSED");
  expect((await run.info()).error).toMatchObject({ code: "WORKFLOW_FAILED", data: { node: "a" } });
  expect(await statuses(run)).toEqual({
    nested: "RUNNING",
    a: "FAILED",
    b: "SKIPPED",
    audit: "READY",
  });

  inside.end.open();
  await run.resume();
  expect(await run.result()).toMatchObject({ ok: false, error: { data: { node: "a" } } });
  expect(await statuses(run)).toEqual({
    nested: "COMPLETED",
    a: "FAILED",
    b: "SKIPPED",
    audit: "COMPLETED",
  });
});

promise(
  "nodes that could start are READY. Running tasks continue to their end (with their retries), their results count",
  async () => {
    const first = held();
    scene.bodies = { a: first.body };
    const run = await scene.app.start(chain);
    await first.begun.opened;
    expect(await run.pause()).toBe(true);
    expect(await run.pause()).toBe(false);
    first.end.open();
    await waitUntil("node a", async () => (await run.resultFor("a")) !== null);
    expect(await statuses(run)).toEqual({ a: "COMPLETED", b: "READY", c: "PENDING" });
    expect(await run.status()).toBe("PAUSED");
    expect(scene.ran).toEqual(["a"]);
    expect(await run.resume()).toBe(true);
    expect(await run.result()).toEqual({ ok: true, value: "c" });
  },
);

promise(
  "`resume()` sends what is READY, and resumes the runs nested in it; if everything had ended meanwhile, the run ends now.",
  async () => {
    const last = held();
    scene.bodies = { c: last.body };
    const run = await scene.app.start(chain);
    await last.begun.opened;
    await run.pause();
    last.end.open();
    await waitUntil("the last node", async () => (await run.resultFor("c")) !== null);
    expect(await run.status()).toBe("PAUSED");
    expect(await run.resume()).toBe(true);
    expect(await run.status()).toBe("COMPLETED");
  },
);

promise(
  "Tasks that run are asked to stop, and their nodes are FAILED with `TASK_CANCELLED` when they have ended; nested runs are cancelled, their nodes are FAILED with `SUBWORKFLOW_FAILED`.",
  async () => {
    const inside = held();
    scene.bodies = { x: inside.body };
    const run = await scene.app.start(outer);
    await inside.begun.opened;
    expect(await run.cancel()).toBe("requested");
    expect(await run.result()).toMatchObject({ ok: false, error: { code: "WORKFLOW_CANCELLED" } });
    expect(await run.status()).toBe("CANCELLED");
    expect(await statuses(run)).toEqual({
      nested: "FAILED",
      follower: "SKIPPED",
      watcher: "SKIPPED",
    });
    expect(await run.resultFor("nested")).toMatchObject({ error: { code: "SUBWORKFLOW_FAILED" } });
    expect(await run.cancel()).toBe("finished");
  },
);

promise("With `success.optional`, these nodes may fail (and do not pause the run).", async () => {
  const workflow = defineWorkflow({
    name: "optional",
    onError: "pause",
    success: { optional: ["extra"] },
    build: (flow) => {
      const extra = flow.node("extra", step, { do: "extra" });
      return flow.output(flow.node("main", step, { do: "main" }).output, [extra]);
    },
  });
  scene.bodies = { extra: broken };
  const run = await scene.app.start(workflow);
  expect(await run.result()).toEqual({ ok: true, value: "main" });
  expect((await run.info()).counts).toMatchObject({ completed: 1, failed: 1 });
});

promise(
  "a run is COMPLETED if all nodes of at least one case are COMPLETED, whatever became of the others.",
  async () => {
    const workflow = defineWorkflow({
      name: "cases",
      success: { cases: [["card"], ["cash"]] },
      build: (flow) => {
        const card = flow.node("card", step, { do: "card" });
        const cash = flow.node("cash", step, { do: "cash" });
        return { card: card.output, cash: cash.output };
      },
    });
    scene.bodies = { card: broken };
    expect(await (await scene.app.start(workflow)).result()).toEqual({
      ok: true,
      value: { cash: "cash" },
    });
    scene.bodies = { card: broken, cash: broken };
    expect(await (await scene.app.start(workflow)).result()).toMatchObject({
      ok: false,
      error: { code: "WORKFLOW_FAILED", data: { node: "card" } },
    });
  },
);

promise(
  "the FAILED node and all nodes that follow it, directly or not, start over; the run is RUNNING again",
  async () => {
    scene.bodies = { b: brokenOnce() };
    const run = await scene.app.start(chain);
    expect(await run.result()).toMatchObject({ ok: false, error: { data: { node: "b" } } });
    await run.retryFrom("b");
    expect(await run.result()).toEqual({ ok: true, value: "c" });
    expect(scene.ran).toEqual(["a", "b", "b", "c"]);
    const [, b] = await run.nodes();
    expect(b?.earlier).toMatchObject([{ status: "FAILED", attempts: [{}] }]);
    expect(await run.resultFor("b")).toEqual({ ok: true, value: "mended" });
  },
);

promise("If a fan-out is named, only its FAILED items are run again", async () => {
  const workflow = defineWorkflow({
    name: "mended-items",
    build: (flow) => {
      const list = flow.node("list", step, { do: "list" });
      const each = flow.each("each", step, list.output as never, (item) => ({ do: item as never }));
      return flow.output(1, [each]);
    },
  });
  scene.bodies = { list: () => ["x", "y", "z"], y: brokenOnce() };
  const run = await scene.app.start(workflow);
  expect((await run.result()).ok).toBe(false);
  await run.retryFrom("each" as never);
  expect((await run.result()).ok).toBe(true);
  expect(scene.ran.toSorted()).toEqual(["list", "x", "y", "y", "z"]);
  expect(await run.resultFor("each" as never)).toEqual({ ok: true, value: ["x", "mended", "z"] });
});
