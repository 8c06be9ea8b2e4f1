/** The transaction that ends the task of a node advances its run: that of a worker, the reaper, an operator or a handler. */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { defineTask, defineWorkflow, type Posthaste } from "../../src/index.ts";
import { databaseAt, readConfig } from "../../src/config/config.ts";
import { Database } from "../../src/database/database.ts";
import { hookRunner } from "../../src/hooks/hook-runner.ts";
import { runPasses } from "../../src/recovery/passes.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";
import { recordingLogger, silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";

const db = useDatabase();
vi.setConfig({ testTimeout: 30_000 });

const quick = defineTask({ name: "quick", run: (input: { readonly n: number }) => input.n });
const look = defineTask({
  name: "look",
  run: (input: { readonly at: unknown }) => input.at as string,
});
const slow = gate();
const waiting = defineTask({
  name: "waiting",
  run: async () => {
    await slow.opened;
    return "waited";
  },
});

/** A node that expires after `goodForMs`, and a node that gets its result. */
function short(queue: string, goodForMs: number) {
  return defineWorkflow({
    name: `short-${queue}-${goodForMs}`,
    build: (flow) => {
      const a = flow.node("a", quick, { n: 1 }, { goodForMs, queue });
      return flow.node("b", look, { at: a.result }).output;
    },
  });
}

async function openTransaction(): Promise<pg.Client> {
  const client = new pg.Client(db.url);
  await client.connect();
  await client.query("begin");
  return client;
}

async function onePass() {
  const { recovery, workerRecovery } = readConfig({}, {}).config;
  const database = new Database({
    locate: async () => databaseAt(db.url),
    schema: "posthaste",
    autoMigrate: true,
    log: silentLogger,
  });
  try {
    const hooks = hookRunner({}, silentLogger);
    const me = { workerId: randomUUID(), hooks, log: silentLogger };
    return await runPasses({ database, recovery, workerRecovery, ...me });
  } finally {
    await database.close();
  }
}

async function endsExpired(app: Posthaste, id: string): Promise<void> {
  const workflow = short("default", 1);
  const run = app.workflow(workflow, id);
  expect(await run.result()).toMatchObject({
    ok: false,
    error: { data: { node: "a", error: { code: "TASK_EXPIRED" } } },
  });
  expect(await run.resultFor("b")).toMatchObject({
    ok: true,
    value: { error: { code: "TASK_EXPIRED" } },
  });
}

test("a node that a worker claims too late expires, and its run advances", async () => {
  const app = db.app({ tasks: [quick, look] });
  const run = await app.start(short("default", 1));
  await db.sql("select pg_sleep(0.02)");
  await app.worker({ concurrency: 2 }).start();
  await endsExpired(app, run.id);
  const [a] = await run.nodes();
  expect(a?.attempts).toEqual([]);
});

test("a node that a worker claims too late is logged as expired, and the hook and waiters are notified", async () => {
  const expired: string[] = [];
  const logger = recordingLogger();
  const hooks = { taskExpired: ({ id }: { readonly id: string }) => void expired.push(id) };
  // Only a notification can end the wait in time.
  const resilience = { notifyPollIntervalMs: 300_000 };
  const app = db.app({ tasks: [quick, look], hooks, logger, resilience });
  const run = await app.start(short("default", 1));
  const [a] = await run.nodes();
  const result = app.task(quick, a?.taskId ?? "").result({ timeoutMs: 25_000 });
  await db.sql("select pg_sleep(0.02)");
  await app.worker({ concurrency: 2 }).start();

  expect(await result).toMatchObject({ ok: false, error: { code: "TASK_EXPIRED" } });
  await waitUntil("the hook", async () => expired.length > 0);
  expect(expired).toEqual([a?.taskId]);
  expect(logger.lines.filter(({ message }) => message.startsWith("task expired"))).toMatchObject([
    { fields: { task: a?.taskId, name: "quick" } },
  ]);
});

test("a node whose deadline passes in the prefetch buffer expires, and its run advances", async () => {
  const app = db.app({ tasks: [quick, look, waiting], prefetchBuffer: 5 });
  await app.worker({ concurrency: 1 }).start();
  const holder = await app.send(waiting);
  await waitUntil("the slot to be taken", async () => (await holder.info()).status === "RUNNING");
  const run = await app.start(short("default", 300));
  await waitUntil("the claim", async () => {
    const [row] = await db.sql("select from posthaste.active_tasks where started_at is null");
    return row !== undefined;
  });
  await db.sql("select pg_sleep(0.4)");
  slow.open();
  await endsExpired(app, run.id);
});

test("the reaper expires a node that no worker claims, and its run advances", async () => {
  const app = db.app({ tasks: [quick, look] });
  const run = await app.start(short("nobody", 1));
  await db.sql("select pg_sleep(0.02)");
  expect(await onePass()).toMatchObject({ expired: 1 });
  await app.worker({ concurrency: 1 }).start();
  expect(await run.result()).toMatchObject({ ok: false, error: { data: { node: "a" } } });
});

const two = defineWorkflow({
  name: "two",
  build: (flow) => {
    const a = flow.node("a", quick, { n: 1 });
    return flow.node("b", look, { at: a.result }).output;
  },
});

test.each([
  ["cancel", "select posthaste.cancel($1)", "TASK_CANCELLED"],
  ["fail", "select posthaste.fail($1, 'GIVEN_UP')", "GIVEN_UP"],
])(
  "an operator's %s of a node's task advances its run, in the operator's transaction",
  async (_, statement, code) => {
    const app = db.app({ tasks: [quick, look] });
    const run = await app.start(two);
    const operator = await openTransaction();
    const [a] = await run.nodes();
    await operator.query(statement, [a?.taskId]);
    expect((await run.nodes()).map(({ status }) => status)).toEqual(["ENQUEUED", "PENDING"]);
    await operator.query("commit");
    await operator.end();
    expect((await run.nodes()).map(({ status }) => status)).toEqual(["FAILED", "ENQUEUED"]);
    expect(await run.resultFor("a" as never)).toMatchObject({ error: { code } });
  },
);

test("two nodes that fail at the same moment skip their common dependent and fail the run", async () => {
  const join = defineWorkflow({
    name: "join",
    build: (flow) => {
      const [a, b] = [flow.node("a", quick, { n: 1 }), flow.node("b", quick, { n: 2 })];
      return flow.node("c", look, { at: [a.output, b.output] }).output;
    },
  });
  const app = db.app({ tasks: [quick, look] });
  const run = await app.start(join);
  const ids = (await run.nodes()).flatMap(({ taskId }) => (taskId === null ? [] : [taskId]));
  const [one, other] = [await openTransaction(), await openTransaction()];
  await one.query("select posthaste.fail($1, 'BROKEN')", [ids[0]]);
  const second = other.query("select posthaste.fail($1, 'BROKEN')", [ids[1]]); // waits for the root's lock
  await one.query("commit");
  await second;
  await other.query("commit");
  await Promise.all([one.end(), other.end()]);
  expect((await run.nodes()).map(({ status }) => status)).toEqual(["FAILED", "FAILED", "SKIPPED"]);
  expect(await run.status()).toBe("FAILED");
});

test("two nodes that end at the same moment on two workers start their common dependent once", async () => {
  const RUNS = 25;
  const joined: number[] = [];
  const meetings = Array.from({ length: RUNS }, () => ({ ...gate(), isSecond: false }));
  const meet = defineTask({
    name: "meet",
    run: async ({ n }: { readonly n: number }) => {
      const meeting = meetings[n];
      if (meeting?.isSecond === true) meeting.open();
      else if (meeting !== undefined) meeting.isSecond = true;
      await meeting?.opened;
      return n;
    },
  });
  const join = defineTask({
    name: "join",
    run: ({ at: [n] }: { readonly at: readonly [number, number] }) => joined.push(n),
  });
  const workflow = defineWorkflow({
    name: "meetings",
    input: z.object({ n: z.number() }),
    build: (flow, { n }) => {
      const [a, b] = [flow.node("a", meet, { n }), flow.node("b", meet, { n })];
      return flow.node("c", join, { at: [a.output, b.output] }).output;
    },
  });
  const [one, other] = [db.app({ tasks: [meet, join] }), db.app({ tasks: [meet, join] })];
  for (const app of [one, other]) await app.worker({ concurrency: RUNS }).start();
  const runs = await Promise.all(meetings.map((_, n) => one.start(workflow, { n })));
  await Promise.all(runs.map((run) => run.value({ timeoutMs: 30_000 })));
  expect(joined.toSorted((a, b) => a - b)).toEqual(meetings.map((_, n) => n));
});

test("plain tasks complete while another session holds the lock of a run", async () => {
  const app = db.app({ tasks: [quick, look] });
  const run = await app.start(two);
  const holder = await openTransaction();
  await holder.query("select from posthaste.workflow_states where workflow_id = $1 for update", [
    run.id,
  ]);
  await app.worker({ concurrency: 3 }).start();
  await waitUntil(
    "the handler of the node to end",
    async () => (await run.nodes())[0]?.attempts.length === 1,
  );
  const sent = await app.sendMany(
    quick,
    Array.from({ length: 200 }, (_, n) => ({ n })),
  );
  await Promise.all(sent.map((handle) => handle.value({ timeoutMs: 30_000 })));
  expect(await run.status()).toBe("RUNNING");
  await holder.query("commit");
  await holder.end();
  expect(await run.result()).toEqual({ ok: true, value: { ok: true, value: 1 } });
});

test("ctx.complete() in a handler's transaction advances the run when the transaction commits, and not before", async () => {
  const pool = new pg.Pool({ connectionString: db.url, max: 2 });
  const [isOpen, mayCommit] = [gate(), gate()];
  const own = defineTask({
    name: "own",
    run: async (_input: undefined, ctx) => {
      const tx = await pool.connect();
      try {
        await tx.query("begin");
        await ctx.complete("done", { tx });
        isOpen.open();
        await mayCommit.opened;
        await tx.query("commit");
      } finally {
        tx.release();
      }
      return "done";
    },
  });
  const workflow = defineWorkflow({
    name: "own",
    build: (flow) => flow.node("b", look, { at: flow.node("a", own).output }).output,
  });
  const app = db.app({ tasks: [own, look] });
  await app.worker({ concurrency: 2 }).start();
  const run = await app.start(workflow);
  await isOpen.opened;
  expect((await run.nodes()).map(({ status }) => status)).toEqual(["RUNNING", "PENDING"]);
  mayCommit.open();
  expect(await run.result()).toEqual({ ok: true, value: "done" });
  await pool.end();
});
