import pg from "pg";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { defineTask, fail, fixed, type TaskContext } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";
import { recordingLogger } from "../support/loggers.ts";

const db = useDatabase();
useCleanTables(db);

beforeAll(() => db.sql("create table effects (task uuid not null, note text)"));
beforeEach(() => db.sql("truncate effects"));

const INSERT = "insert into effects (task, note) values ($1, $2)";

async function notes(): Promise<string[]> {
  return (await db.sql<{ note: string }>("select note from effects order by note")).map(
    ({ note }) => note,
  );
}

/** A task with the handler of the test. */
function task<Value>(run: (ctx: TaskContext) => Promise<Value>) {
  return defineTask({ name: "effects", run: async (_: null, ctx): Promise<unknown> => run(ctx) });
}

let clients: pg.Client[] = [];
afterEach(async () => {
  for (const client of clients) await client.end();
  clients = [];
});

async function ownClient(): Promise<pg.Client> {
  const client = new pg.Client(db.url);
  await client.connect();
  clients.push(client);
  return client;
}

test("ctx.transaction commits its writes and the completion together", async () => {
  const seen = gate();
  const go = gate();
  const work = task((ctx) =>
    ctx.transaction(async (tx) => {
      const { rowCount } = await tx.query(INSERT, [ctx.taskId, "paid"]);
      seen.open();
      await go.opened;
      return { rows: rowCount };
    }),
  );
  const app = db.app({ tasks: [work] });
  await app.worker().start();
  const handle = await app.send(work);
  await seen.opened;
  expect(await notes()).toEqual([]);
  expect((await handle.info()).status).toBe("RUNNING");
  go.open();
  expect(await handle.value({ timeoutMs: 30_000 })).toEqual({ rows: 1 });
  expect(await notes()).toEqual(["paid"]);
  expect(await handle.info()).toMatchObject({
    status: "COMPLETED",
    attempts: [{ attempt: 1, outcome: "COMPLETED" }],
  });
});

test("an error thrown in ctx.transaction rolls back its writes, and the task is retried", async () => {
  let runs = 0;
  const work = defineTask({
    name: "effects",
    retry: fixed({ intervalsMs: [1], retryFor: "any" }),
    run: (_: null, ctx) =>
      ctx.transaction(async (tx) => {
        await tx.query(INSERT, [ctx.taskId, `run ${++runs}`]);
        if (runs === 1) throw new Error("the first one fails");
        return runs;
      }),
  });
  const app = db.app({ tasks: [work] });
  await app.worker().start();
  const handle = await app.send(work);
  expect(await handle.value({ timeoutMs: 30_000 })).toBe(2);
  expect(await notes()).toEqual(["run 2"]);
});

test("a failure returned from ctx.transaction rolls back its writes and fails the task", async () => {
  const work = defineTask({
    name: "effects",
    errors: ["NO_FUNDS"],
    run: (_: null, ctx) =>
      ctx.transaction(async (tx) => {
        await tx.query(INSERT, [ctx.taskId, "never"]);
        return fail("NO_FUNDS");
      }),
  });
  const app = db.app({ tasks: [work] });
  await app.worker().start();
  const handle = await app.send(work);
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({ error: { code: "NO_FUNDS" } });
  expect(await notes()).toEqual([]);
});

test("a value that cannot be stored rolls back ctx.transaction", async () => {
  const work = task((ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query(INSERT, [ctx.taskId, "never"]);
      return 5n;
    }),
  );
  const app = db.app({ tasks: [work] });
  await app.worker().start();
  const handle = await app.send(work);
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "WORKER_SERIALIZATION_ERROR" },
  });
  expect(await notes()).toEqual([]);
});

test("a lost claim rolls back ctx.transaction, and only the effect of the other attempt is stored", async () => {
  let runs = 0;
  const thrown: unknown[] = [];
  const lost = gate();
  const began = gate();
  const work = task(async (ctx) => {
    const run = ++runs;
    return ctx
      .transaction(async (tx) => {
        await tx.query(INSERT, [ctx.taskId, `run ${run}`]);
        if (run === 1) {
          began.open();
          await lost.opened;
        }
        return run;
      })
      .catch((error: unknown) => {
        thrown.push(error);
        throw error;
      });
  });
  const app = db.app({ tasks: [work] });
  await app.worker({ concurrency: 2 }).start();
  const handle = await app.send(work);
  await began.opened;
  await db.sql("select posthaste.requeue($1)", [handle.id]);
  expect(await handle.value({ timeoutMs: 30_000 })).toBe(2);
  lost.open();
  await expect.poll(() => thrown).toMatchObject([{ name: "TaskAborted", reason: "CLAIM_LOST" }]);
  expect(await notes()).toEqual(["run 2"]);
});

test("a task that is cancelled during ctx.transaction has no effect and ends CANCELLED", async () => {
  const began = gate();
  const go = gate();
  const work = task((ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query(INSERT, [ctx.taskId, "never"]);
      began.open();
      await go.opened;
      return 1;
    }),
  );
  const app = db.app({ tasks: [work] });
  await app.worker().start();
  const handle = await app.send(work);
  await began.opened;
  // The update sends no notification and aborts no handler, so only the fence finds the cancellation.
  await db.sql("update posthaste.active_tasks set cancel_requested_at = clock_timestamp()");
  go.open();
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "TASK_CANCELLED" },
  });
  expect(await notes()).toEqual([]);
});

test("an error that a handler throws after ctx.transaction does not change the completed task", async () => {
  const logger = recordingLogger();
  const work = task(async (ctx) => {
    await ctx.transaction(async (tx) => {
      await tx.query(INSERT, [ctx.taskId, "done"]);
      return "the value";
    });
    throw new Error("too late to fail");
  });
  const app = db.app({ tasks: [work], logger });
  await app.worker().start();
  const handle = await app.send(work);
  expect(await handle.value({ timeoutMs: 30_000 })).toBe("the value");
  expect(await notes()).toEqual(["done"]);
  await expect
    .poll(() => logger.lines.map(({ message }) => message))
    .toContain("handler failed after its transaction completed the task; the task stays completed");
});

test("ctx.complete completes the task in the caller's own transaction", async () => {
  const client = await ownClient();
  const work = task(async (ctx) => {
    await client.query("begin");
    await client.query(INSERT, [ctx.taskId, "own"]);
    await ctx.complete({ ok: 1 }, { tx: client });
    await client.query("commit");
    return "not what was completed";
  });
  const app = db.app({ tasks: [work] });
  await app.worker().start();
  const handle = await app.send(work);
  expect(await handle.value({ timeoutMs: 30_000 })).toEqual({ ok: 1 });
  expect(await notes()).toEqual(["own"]);
});

test("ctx.complete in a transaction that is rolled back leaves the task FAILED, not COMPLETED", async () => {
  const client = await ownClient();
  const work = task(async (ctx) => {
    await client.query("begin");
    await client.query(INSERT, [ctx.taskId, "own"]);
    await ctx.complete(1, { tx: client });
    await client.query("rollback");
    return 1;
  });
  const app = db.app({ tasks: [work] });
  await app.worker().start();
  const handle = await app.send(work);
  const result = await handle.result({ timeoutMs: 30_000 });
  expect(result).toMatchObject({ ok: false, error: { code: "UNHANDLED_ERROR" } });
  expect(JSON.stringify(result)).toContain("rolled back");
  expect(await notes()).toEqual([]);
});

test("a transaction that is still open when its handler has returned does not delay other tasks", async () => {
  const client = await ownClient();
  const work = task(async (ctx) => {
    await client.query("begin");
    await client.query(INSERT, [ctx.taskId, "own"]);
    await ctx.complete("own", { tx: client });
    return null;
  });
  const other = defineTask({ name: "other", run: () => "quick" });
  const app = db.app({ tasks: [work, other] });
  await app.worker({ concurrency: 2 }).start();
  const handle = await app.send(work);
  await expect
    .poll(
      async () =>
        (
          await db.sql(
            `select from pg_locks join pg_database on database = pg_database.oid
              where datname = current_database() and relation = 'effects'::regclass`,
          )
        ).length,
    )
    .toBe(1);
  const quick = await app.send(other);
  expect(await quick.value({ timeoutMs: 30_000 })).toBe("quick");
  await client.query("commit");
  expect(await handle.value({ timeoutMs: 30_000 })).toBe("own");
});

test("a hundred handlers in ctx.transaction at once do not prevent other tasks from ending", async () => {
  const go = gate();
  let inside = 0;
  const work = task((ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query(INSERT, [ctx.taskId, "many"]);
      inside++;
      await go.opened;
      return null;
    }),
  );
  const other = defineTask({ name: "other", run: () => "quick" });
  const app = db.app({ tasks: [work, other] });
  await app.worker({ concurrency: 101 }).start();
  const handles = await app.sendMany(
    work,
    Array.from({ length: 100 }, () => undefined),
  );
  await expect.poll(() => inside).toBe(10); // poolSize
  for (let n = 0; n < 20; n++) {
    const handle = await app.send(other);
    expect(await handle.value({ timeoutMs: 30_000 })).toBe("quick");
  }
  go.open();
  for (const handle of handles) await handle.value({ timeoutMs: 30_000 });
  expect(await notes()).toHaveLength(100);
});

test("ctx.transaction refuses a second completion", async () => {
  const work = task(async (ctx) => {
    await ctx.transaction(async () => 1);
    return ctx.transaction(async () => 2).catch((error: Error) => error.message);
  });
  const app = db.app({ tasks: [work] });
  await app.worker().start();
  const handle = await app.send(work);
  expect(await handle.value({ timeoutMs: 30_000 })).toBe(1);
});
