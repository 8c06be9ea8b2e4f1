/**
 * What docs/guides/workflows.md promises, sentence by sentence: the name of each test stands in that guide, word by word.
 * Real workers, the public API.
 */
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  defineTask,
  defineWorkflow,
  fail,
  fixed,
  type Posthaste,
  type TaskContext,
} from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { gate, type Gate } from "../support/gate.ts";
import { waitUntil } from "../support/wait-until.ts";

const db = useDatabase();
vi.setConfig({ testTimeout: 30_000 });

const guide = readFileSync(new URL("../../../../docs/guides/workflows.md", import.meta.url), "utf8")
  .replaceAll(/\s+/g, " ")
  .replaceAll(/ \d+\. /g, " ");

/** A test whose name is a sentence of the guide, or a part of one. */
function promise(sentence: string, prove: () => Promise<void>): void {
  test(sentence, async () => {
    expect(guide).toContain(sentence);
    await prove();
  });
}

type Body = (ctx: TaskContext) => unknown;
/** What the bodies of nodes do, by the word they are given; others return their word. */
let bodies: Record<string, Body>;
let ran: string[];
let app: Posthaste;

const step = defineTask({
  name: "step",
  errors: ["BROKEN"],
  run: async (input: { readonly do: string }, ctx) => {
    ran.push(input.do);
    const body = bodies[input.do];
    return body === undefined ? input.do : ((await body(ctx)) as string);
  },
});
const look = defineTask({
  name: "look",
  run: (input: { readonly at: unknown }) => input.at as string,
});

const broken: Body = () => fail("BROKEN", "it broke");
/** Fails the first time. */
function brokenOnce(): Body {
  let isFirst = true;
  return () => {
    if (!isFirst) return "mended";
    isFirst = false;
    return fail("BROKEN", "it broke");
  };
}

/** A body that says when it has begun, and ends when it is let go or aborted. */
function held(): { readonly body: Body; readonly begun: Gate; readonly end: Gate } {
  const [begun, end] = [gate(), gate()];
  const body: Body = async ({ signal }) => {
    begun.open();
    const aborted = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve()),
    );
    await Promise.race([end.opened, aborted]);
    signal.throwIfAborted();
    return "held";
  };
  return { body, begun, end };
}

beforeEach(async () => {
  bodies = {};
  ran = [];
  app = db.app({ tasks: [step, look] });
  await app.worker({ concurrency: 5 }).start();
});
afterEach(() => app.close());

async function statuses(run: {
  nodes(): Promise<readonly { readonly id: string; readonly status: string }[]>;
}): Promise<Record<string, string>> {
  return Object.fromEntries((await run.nodes()).map(({ id, status }) => [id, status]));
}

const chain = defineWorkflow({
  name: "chain",
  build: (flow) => {
    const a = flow.node("a", step, { do: "a" });
    const b = flow.node("b", step, { do: "b" }, { after: [a] });
    const c = flow.node("c", step, { do: "c" }, { after: [b] });
    return c.output;
  },
});

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
    bodies = { a: broken };
    const run = await app.start(workflow);
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
  'Whoever only needs its end (`.result`) runs, and gets `{ ok: false, error: { code: "UPSTREAM_SKIPPED" } }`.',
  async () => {
    const workflow = defineWorkflow({
      name: "sentinel",
      build: (flow) => {
        const a = flow.node("a", step, { do: "a" });
        const b = flow.node("b", step, { do: "b" }, { after: [a] });
        return flow.node("c", look, { at: b.result }).output;
      },
    });
    bodies = { a: broken };
    const run = await app.start(workflow);
    await run.result();
    expect(await run.resultFor("c")).toMatchObject({
      ok: true,
      value: { ok: false, error: { code: "UPSTREAM_SKIPPED" } },
    });
  },
);

promise("so many sources of a quorum FAILED or were SKIPPED that too few are left", async () => {
  const workflow = defineWorkflow({
    name: "quorum",
    build: (flow) => {
      const sources = ["a", "b", "c"].map((id) => flow.node(id, step, { do: id }));
      const enough = flow.quorum(2, sources);
      return flow.node("d", look, { at: enough.output }).output;
    },
  });
  bodies = { a: broken, b: broken };
  const run = await app.start(workflow);
  await run.result();
  expect(await statuses(run)).toMatchObject({ c: "COMPLETED", d: "SKIPPED" });
  expect(ran).not.toContain("d");

  bodies = { a: broken };
  const other = await app.start(workflow);
  await other.result();
  expect(await other.resultFor("d")).toEqual({ ok: true, value: ["b", "c"] });
});

promise(
  "A join starts its followers at the first moment at which it is met; the other sources go on, nobody waits for them.",
  async () => {
    const slow = held();
    bodies = { slow: slow.body };
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
    const run = await app.start(workflow);
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
      // A string in the types, a list at run time: what matters here is that it is empty.
      const each = flow.each("each", step, list.output as never, (item) => ({ do: item as never }));
      return flow.node("count", look, { at: each.output as never }).output;
    },
  });
  bodies = { list: () => [] };
  const run = await app.start(workflow);
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
  bodies = { list: () => ["x", "y", "z"], y: broken };
  const run = await app.start(workflow);
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

const inner = defineWorkflow({
  name: "inner",
  build: (flow) => flow.node("x", step, { do: "x" }).output,
});
const outer = defineWorkflow({
  name: "outer",
  build: (flow) => {
    const nested = flow.workflow("nested", inner);
    const follower = flow.node("follower", look, { at: nested.output });
    const watcher = flow.node("watcher", look, { at: nested.result });
    return flow.output(follower.output, [watcher]);
  },
});

promise(
  "COMPLETED with its output, or FAILED with `SUBWORKFLOW_FAILED` if it FAILED or was CANCELLED.",
  async () => {
    const good = await app.start(outer);
    expect(await good.result()).toEqual({ ok: true, value: "x" });

    bodies = { x: broken };
    const bad = await app.start(outer);
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
  bodies = { x: inside.body, a: async (ctx) => (await failing.body(ctx), broken(ctx)) };
  const run = await app.start(workflow);
  await Promise.all([inside.begun.opened, failing.begun.opened]);
  failing.end.open();
  await waitUntil("the pause", async () => (await run.status()) === "PAUSED");
  const child = (await run.nodes()).find(({ id }) => id === "nested")?.runId ?? "";
  expect(await app.workflow(inner, child).status()).toBe("PAUSED");
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

promise("While the task is tried again, the node is RUNNING.", async () => {
  const retrying = defineTask({
    name: "retrying",
    errors: ["BROKEN"],
    retry: fixed({ intervalsMs: [60_000], retryFor: "any" }),
    run: () => fail("BROKEN"),
  });
  const other = db.app({ tasks: [retrying] });
  await other.worker({ concurrency: 1 }).start();
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

promise(
  "nodes that could start are READY. What runs goes on to its end (with its retries), its results count",
  async () => {
    const first = held();
    bodies = { a: first.body };
    const run = await app.start(chain);
    await first.begun.opened;
    expect(await run.pause()).toBe(true);
    expect(await run.pause()).toBe(false);
    first.end.open();
    await waitUntil("node a", async () => (await run.resultFor("a")) !== null);
    expect(await statuses(run)).toEqual({ a: "COMPLETED", b: "READY", c: "PENDING" });
    expect(await run.status()).toBe("PAUSED");
    expect(ran).toEqual(["a"]);
    expect(await run.resume()).toBe(true);
    expect(await run.result()).toEqual({ ok: true, value: "c" });
  },
);

promise(
  "`resume()` sends what is READY, and resumes the runs nested in it; if everything had ended meanwhile, the run ends now.",
  async () => {
    const last = held();
    bodies = { c: last.body };
    const run = await app.start(chain);
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
    bodies = { x: inside.body };
    const run = await app.start(outer);
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
  bodies = { extra: broken };
  const run = await app.start(workflow);
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
    bodies = { card: broken };
    expect(await (await app.start(workflow)).result()).toEqual({
      ok: true,
      value: { cash: "cash" },
    });
    bodies = { card: broken, cash: broken };
    expect(await (await app.start(workflow)).result()).toMatchObject({
      ok: false,
      error: { code: "WORKFLOW_FAILED", data: { node: "card" } },
    });
  },
);

promise(
  "the FAILED node and all nodes that follow it, directly or not, start over; the run is RUNNING again",
  async () => {
    bodies = { b: brokenOnce() };
    const run = await app.start(chain);
    expect(await run.result()).toMatchObject({ ok: false, error: { data: { node: "b" } } });
    await run.retryFrom("b");
    expect(await run.result()).toEqual({ ok: true, value: "c" });
    expect(ran).toEqual(["a", "b", "b", "c"]);
    const [, b] = await run.nodes();
    expect(b?.earlier).toMatchObject([{ status: "FAILED", attempts: [{}] }]);
    expect(await run.resultFor("b")).toEqual({ ok: true, value: "mended" });
  },
);

promise("Of a fan-out that is named only the FAILED items are run again", async () => {
  const workflow = defineWorkflow({
    name: "mended-items",
    build: (flow) => {
      const list = flow.node("list", step, { do: "list" });
      const each = flow.each("each", step, list.output as never, (item) => ({ do: item as never }));
      return flow.output(1, [each]);
    },
  });
  bodies = { list: () => ["x", "y", "z"], y: brokenOnce() };
  const run = await app.start(workflow);
  expect((await run.result()).ok).toBe(false);
  await run.retryFrom("each" as never);
  expect((await run.result()).ok).toBe(true);
  expect(ran.toSorted()).toEqual(["list", "x", "y", "y", "z"]);
  expect(await run.resultFor("each" as never)).toEqual({ ok: true, value: ["x", "mended", "z"] });
});
