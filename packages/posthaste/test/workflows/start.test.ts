import { randomUUID } from "node:crypto";
import pg from "pg";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineTask, defineWorkflow } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);

const note = defineTask({ name: "note", run: (input: { readonly text: string }) => input.text });
const notes = defineWorkflow({
  name: "notes",
  input: z.object({ text: z.string(), times: z.number().default(1) }),
  build: (flow, input) => flow.node("a", note, { text: input.text }).output,
});
const others = defineWorkflow({
  name: "others",
  input: z.object({ text: z.string() }),
  build: (flow, input) => flow.node("a", note, { text: input.text }).output,
});

async function counts(): Promise<{ runs: number; tasks: number; graphs: number }> {
  const [row] = await db.sql<{ runs: number; tasks: number; graphs: number }>(`
    select (select count(*)::int from posthaste.workflows) as runs,
           (select count(*)::int from posthaste.ready_tasks) as tasks,
           (select count(*)::int from posthaste.workflow_graphs) as graphs`);
  if (row === undefined) throw new Error("no counts");
  return row;
}

test("start() resolves when the run and the tasks of its first nodes are stored", async () => {
  const run = await db.app({ tasks: [note] }).start(notes, { text: "x" });
  expect(await run.status()).toBe("RUNNING");
  expect(await counts()).toMatchObject({ runs: 1, tasks: 1 });
});

test("start() stores the input as the schema returns it", async () => {
  const run = await db.app().start(notes, { text: "x" });
  expect((await run.info()).input).toEqual({ text: "x", times: 1 });
});

test("start() rejects with every problem of an input that the schema refuses, and stores no run", async () => {
  const app = db.app();
  await expect(
    app.start(notes, { text: 1 as never, times: "many" as never }),
  ).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
    problems: [{ path: "input.text" }, { path: "input.times" }],
  });
  expect(await counts()).toMatchObject({ runs: 0, tasks: 0 });
});

test("start() in a caller's transaction creates the run when it commits, and never if it rolls back", async () => {
  const app = db.app();
  const tx = new pg.Client(db.url);
  await tx.connect();
  try {
    await tx.query("begin");
    const gone = await app.start(notes, { text: "x" }, { tx });
    await tx.query("rollback");
    await expect(gone.status()).rejects.toMatchObject({ code: "WORKFLOW_NOT_FOUND" });
    await tx.query("begin");
    const kept = await app.start(notes, { text: "x" }, { tx });
    expect(await counts()).toMatchObject({ runs: 0, tasks: 0 });
    await tx.query("commit");
    expect(await kept.status()).toBe("RUNNING");
  } finally {
    await tx.end();
  }
});

test("start() creates one run per workflow and key", async () => {
  const app = db.app();
  const [first, second, other] = await Promise.all([
    app.start(notes, { text: "x" }, { key: "k" }),
    app.start(notes, { text: "x" }, { key: "k" }),
    app.start(others, { text: "x" }, { key: "k" }),
  ]);
  expect(second.id).toBe(first.id);
  expect(other.id).not.toBe(first.id);
  expect(await counts()).toMatchObject({ runs: 2, tasks: 2 });
  await expect(app.start(notes, { text: "y" }, { key: "k" })).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
    problems: [{ path: "options.key" }],
  });
});

test("start() with a known id returns the same run, and refuses another input or another workflow", async () => {
  const app = db.app();
  const id = randomUUID();
  const runs = await Promise.all([1, 2].map(() => app.start(notes, { text: "x" }, { id })));
  expect(runs.map((run) => run.id)).toEqual([id, id]);
  await expect(app.start(notes, { text: "y" }, { id })).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
    problems: [{ path: "options.id" }],
  });
  await expect(app.start(others, { text: "x" }, { id })).rejects.toThrow(/another workflow/);
  expect(await counts()).toMatchObject({ runs: 1, tasks: 1 });
});

test("a hundred starts at once share statements, and a refused start fails alone", async () => {
  const app = db.app();
  const starts = Array.from({ length: 100 }, (_, n) =>
    app.start(notes, { text: n === 50 ? "\u0000" : "x" }),
  );
  const settled = await Promise.allSettled(starts);
  expect(settled.filter(({ status }) => status === "rejected")).toHaveLength(1);
  expect(await counts()).toMatchObject({ runs: 99, tasks: 99, graphs: 1 });
});

test("start() stores a graph again if it is gone", async () => {
  const app = db.app();
  await app.start(notes, { text: "x" });
  await db.sql(
    "truncate posthaste.workflow_graphs, posthaste.graph_nodes, posthaste.graph_edges, posthaste.workflows, posthaste.workflow_states, posthaste.workflow_nodes, posthaste.submissions, posthaste.ready_tasks",
  );
  const run = await app.start(notes, { text: "x" });
  expect(await run.status()).toBe("RUNNING");
});

test("a run keeps the graph that it was started with", async () => {
  const app = db.app();
  const version = (n: number) =>
    defineWorkflow({
      name: "versions",
      version: n,
      build: (flow) => {
        const a = flow.node("a", note, { text: "a" });
        return n === 1 ? a.output : flow.node("b", note, { text: a.output }).output;
      },
    });
  const old = await app.start(version(1));
  const young = await app.start(version(2));
  expect((await old.nodes()).map(({ id }) => id)).toEqual(["a"]);
  expect((await young.nodes()).map(({ id }) => id)).toEqual(["a", "b"]);
  expect((await old.info()).version).toBe(1);
});

test("nodes take their queue and priority from the node, the task or the app's config, in this order", async () => {
  const slow = defineTask({ name: "slow", queue: "slow", priority: 7, run: () => 1 });
  const workflow = defineWorkflow({
    name: "places",
    build: (flow) => ({
      a: flow.node("a", slow).output,
      b: flow.node("b", slow, undefined, { queue: "fast", priority: 3 }).output,
      c: flow.node("c", note, { text: "x" }, { queue: "fast" }).output,
    }),
  });
  const app = db.app({ queues: { default: {}, slow: {}, fast: { priority: 20 } } });
  await app.start(workflow);
  const rows = await db.sql(
    "select node, queue, priority from posthaste.submissions order by node",
  );
  expect(rows).toEqual([
    { node: "a", queue: "slow", priority: 7 },
    { node: "b", queue: "fast", priority: 3 },
    { node: "c", queue: "fast", priority: 20 },
  ]);
});
