import { expect, test } from "vitest";
import { defineTask, type TaskHandle } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";

const db = useDatabase();
useCleanTables(db);

test("the app makes ctx.context once for each worker and disposes of it when the worker stops", async () => {
  const made: { n: number; isGone: boolean }[] = [];
  const task = defineTask({
    name: "uses",
    run: (_: null, ctx) => (ctx.context as { n: number }).n,
  });
  const app = db.app({
    tasks: [task],
    context: async () => {
      const one = { n: made.length + 1, isGone: false };
      made.push(one);
      return Object.assign(one, {
        [Symbol.asyncDispose]: async () => {
          one.isGone = true;
        },
      });
    },
  });
  const worker = await app.worker().start();
  const handle = await app.send(task);
  expect(await handle.value({ timeoutMs: 30_000 })).toBe(1);
  await (await app.send(task)).value({ timeoutMs: 30_000 });
  expect(made).toHaveLength(1);
  await worker.stop();
  expect(made).toMatchObject([{ isGone: true }]);
});

test("a worker does not start when its context cannot be made", async () => {
  const app = db.app({
    tasks: [defineTask({ name: "idle", run: () => null })],
    context: () => {
      throw new Error("no database for the context");
    },
  });
  await expect(app.worker().start()).rejects.toThrow("no database for the context");
});

test("ctx.progress stores the latest value, which is readable while the task runs and after its end", async () => {
  const go = gate();
  const task = defineTask({
    name: "reports",
    run: async (_: null, ctx) => {
      for (let done = 0; done <= 1_000; done++) ctx.progress({ done });
      await go.opened;
      ctx.progress({ done: "all" });
      return null;
    },
  });
  const app = db.app({ tasks: [task] });
  await app.worker().start();
  const handle = await app.send(task);
  expect(await handle.progress()).toBeNull();
  await expect.poll(() => handle.progress()).toEqual({ done: 1_000 });
  expect((await app.admin.tasks.get(handle.id)).progress).toEqual({ done: 1_000 });
  go.open();
  await handle.value({ timeoutMs: 30_000 });
  expect(await handle.progress()).toEqual({ done: "all" });
});

test("progress of a lost claim is not stored", async () => {
  const lost = gate();
  const began = gate();
  const reported = gate();
  let runs = 0;
  const task = defineTask({
    name: "reports",
    run: async (_: null, ctx) => {
      const run = ++runs;
      if (run === 1) {
        began.open();
        await lost.opened;
      }
      ctx.progress(`run ${run}`);
      if (run === 1) reported.open();
      return run;
    },
  });
  const app = db.app({ tasks: [task] });
  await app.worker({ concurrency: 2 }).start();
  const handle = await app.send(task);
  await began.opened;
  await db.sql("select posthaste.requeue($1)", [handle.id]);
  await handle.value({ timeoutMs: 30_000 });
  lost.open();
  await reported.opened;
  await app.close();
  const [row] = await db.sql("select value, attempt_no from posthaste.progress");
  expect(row).toEqual({ value: "run 2", attempt_no: 2 });
});

test("ctx.progress refuses a value that JSON cannot hold or that is too large", async () => {
  const messages: string[] = [];
  const task = defineTask({
    name: "reports",
    run: (_: null, ctx) => {
      for (const value of [1n, "x".repeat(70_000)]) {
        try {
          ctx.progress(value as string);
        } catch (error) {
          messages.push((error as Error).message);
        }
      }
      return null;
    },
  });
  const app = db.app({ tasks: [task] });
  await app.worker().start();
  await (await app.send(task)).value({ timeoutMs: 30_000 });
  expect(messages).toEqual([
    expect.stringContaining("takes what JSON can hold"),
    expect.stringContaining("at most 65536 bytes of JSON, found 700"),
  ]);
});

test("ctx.send sends a child task, alone and in the task's transaction", async () => {
  const child = defineTask({ name: "child", run: (input: string) => `${input} done` });
  const handles: TaskHandle<typeof child>[] = [];
  const parent = defineTask({
    name: "parent",
    run: async (_: null, ctx) => {
      handles.push(await ctx.send(child, "alone"));
      return ctx.transaction(async (tx) => {
        handles.push(await ctx.send(child, "with its parent", { tx }));
        return null;
      });
    },
  });
  const app = db.app({ tasks: [parent, child] });
  await app.worker({ concurrency: 4 }).start();
  await (await app.send(parent)).value({ timeoutMs: 30_000 });
  const values = await Promise.all(handles.map((handle) => handle.value({ timeoutMs: 30_000 })));
  expect(values).toEqual(["alone done", "with its parent done"]);
});

test("ctx.send creates no children of a lost claim", async () => {
  const child = defineTask({ name: "child", queue: "nobody", run: (input: string) => input });
  const lost = gate();
  const began = gate();
  const outcomes: unknown[] = [];
  let runs = 0;
  const parent = defineTask({
    name: "parent",
    run: async (_: null, ctx) => {
      const run = ++runs;
      if (run === 1) {
        began.open();
        await lost.opened;
      }
      const sent = await Promise.allSettled(
        [1, 2, 3].map((n) => ctx.send(child, `run ${run}, child ${n}`)),
      );
      outcomes.push(
        ...sent.map((each) => (each.status === "rejected" ? each.reason.reason : "sent")),
      );
      return null;
    },
  });
  const app = db.app({ tasks: [parent] });
  await app.worker({ concurrency: 2 }).start();
  const handle = await app.send(parent);
  await began.opened;
  await db.sql("select posthaste.requeue($1)", [handle.id]);
  await handle.value({ timeoutMs: 30_000 });
  lost.open();
  await expect.poll(() => outcomes.length).toBe(6);
  expect(outcomes).toEqual(["sent", "sent", "sent", "CLAIM_LOST", "CLAIM_LOST", "CLAIM_LOST"]);
  const rows = await db.sql("select input from posthaste.submissions where name = 'child'");
  expect(rows).toHaveLength(3);
});

test("ctx.progress stores a value that is reported just before a transaction completes the task", async () => {
  const task = defineTask({
    name: "reports",
    run: async (_: null, ctx) => {
      ctx.progress("first");
      return ctx.transaction(async () => {
        ctx.progress("last");
        return null;
      });
    },
  });
  const app = db.app({ tasks: [task] });
  await app.worker().start();
  const handle = await app.send(task);
  await handle.value({ timeoutMs: 30_000 });
  await expect.poll(() => handle.progress()).toBe("last");
});

test("the context function can use app.databaseUrl", async () => {
  const urls: unknown[] = [];
  const tasks = [defineTask({ name: "idle", run: () => null })];
  const app = db.app({ tasks, context: () => urls.push(app.databaseUrl) });
  await app.worker().start();
  expect(urls).toEqual([db.url]);
});
