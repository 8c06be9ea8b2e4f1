/** A handler ends the transaction of ctx.transaction(), or calls ctx.complete() without a transaction of this database. */
import pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { defineTask, PosthasteError, type CallersTransaction } from "../../src/index.ts";
import { createThrowawayDatabase } from "../../src/store/throwaway-database.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

let pool: pg.Pool;
beforeAll(async () => {
  pool = new pg.Pool({ connectionString: db.url });
  await db.sql("create table effects (task_id uuid)");
});
afterAll(() => pool.end());

const EFFECT = "insert into effects (task_id) values ($1)";

/** Runs the statements of its input in ctx.transaction() and returns the error with which the call is refused. */
const endsIt = defineTask({
  name: "ends-it",
  run: async (statements: string[], ctx) => {
    try {
      await ctx.transaction(async (tx) => {
        await tx.query(EFFECT, [ctx.taskId]);
        for (const each of statements) await tx.query(each);
        return "completed";
      });
      return "accepted";
    } catch (error) {
      return error instanceof PosthasteError ? `${error.code}: ${error.message}` : String(error);
    }
  },
});

test.each([
  [["commit"], 1],
  [["rollback"], 0],
  [["commit", "begin"], 1],
  [["rollback", "begin"], 0],
  [["commit and chain"], 1],
])("%j inside ctx.transaction does not complete the task", async (statements, effects) => {
  const app = db.app({ tasks: [endsIt] });
  await app.worker().start();
  const handle = await app.send(endsIt, statements);
  // The handler catches the refusal and returns it, so that value completes the task, and the transaction does not.
  expect(await handle.value({ timeoutMs: 20_000 })).toMatch(
    /^VALIDATION_FAILED: the task was not completed: the handler has ended the transaction/,
  );
  const written = await db.sql("select from effects where task_id = $1", [handle.id]);
  expect(written.length).toBe(effects);
});

test("a task whose handler ends the transaction and does not catch the error fails", async () => {
  const careless = defineTask({
    name: "careless",
    run: (_input: string, ctx) =>
      ctx.transaction(async (tx) => {
        await tx.query("commit");
        return 1;
      }),
  });
  const app = db.app({ tasks: [careless] });
  await app.worker().start();
  const handle = await app.send(careless, "x");
  expect(await handle.result({ timeoutMs: 20_000 })).toMatchObject({
    ok: false,
    error: { code: "UNHANDLED_ERROR", message: expect.stringContaining("commit and rollback") },
  });
  // The connection returns to the pool without a transaction, so the next task gets a clean connection.
  const fine = await app.send(careless, "x");
  expect((await fine.info()).status).not.toBe("COMPLETED");
  await fine.result({ timeoutMs: 20_000 });
});

let wrong: () => Promise<CallersTransaction>;
const completesInIt = defineTask({
  name: "completes-in-it",
  run: async (_input: string, ctx) => {
    const tx = await wrong();
    return ctx.complete("completed", { tx }).catch((error: unknown) => {
      if (error instanceof PosthasteError) return `${error.code}: ${error.problems[0]?.message}`;
      throw error;
    });
  },
});

test("ctx.complete refuses a pool, a client outside of a transaction, and another database", async () => {
  const client = await pool.connect();
  const other = await createThrowawayDatabase({
    serverUrl: inject("serverUrl"),
    schema: "posthaste",
  });
  const there = new pg.Client(other.url);
  await there.connect();
  await there.query("begin");
  const app = db.app({ tasks: [completesInIt] });
  await app.worker().start();
  try {
    for (const [tx, message] of [
      [pool, /a pool/],
      [client, /no transaction/],
      [there, /another database/],
    ] as const) {
      wrong = async () => tx;
      const handle = await app.send(completesInIt, "x");
      const value = await handle.value({ timeoutMs: 20_000 });
      expect(value).toMatch(/^VALIDATION_FAILED/);
      expect(value).toMatch(message);
    }
  } finally {
    client.release();
    await there.end();
    await other.drop();
  }
});
