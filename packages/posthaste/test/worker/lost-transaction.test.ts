/** The error that a handler gets when `ctx.transaction` loses its connection. */
import { beforeAll, beforeEach, expect, test } from "vitest";
import { defineTask, type TaskContext } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";

const db = useDatabase();
useCleanTables(db);

beforeAll(() => db.sql("create table effects (task uuid not null, note text)"));
beforeEach(() => db.sql("truncate effects"));

const INSERT = "insert into effects (task, note) values ($1, $2)";

/** A task with the handler of the test. */
function task<Value>(run: (ctx: TaskContext) => Promise<Value>) {
  return defineTask({ name: "effects", run: async (_: null, ctx): Promise<unknown> => run(ctx) });
}

test.each([
  ["between two statements", "select 1"],
  ["while a statement runs", "select pg_sleep(60)"],
])(
  "ctx.transaction rejects with DATABASE_UNAVAILABLE when its connection is lost %s, stores nothing, and can be called again",
  async (when, statement) => {
    const pids = gate<number>();
    const ended = gate();
    const seen: unknown[] = [];
    const work = task(async (ctx) => {
      const attempt = (text: string, isFirst: boolean) =>
        ctx.transaction(async (tx) => {
          await tx.query(INSERT, [ctx.taskId, isFirst ? "first" : "second"]);
          const { rows } = await tx.query("select pg_backend_pid() as pid");
          pids.open((rows[0] as { pid: number }).pid);
          if (isFirst && when === "between two statements") await ended.opened;
          await tx.query(text);
          return "done";
        });
      return attempt(statement, true).catch((error: unknown) => {
        seen.push(error);
        return attempt("select 1", false);
      });
    });
    const app = db.app({ tasks: [work] });
    await app.worker().start();
    const handle = await app.send(work);
    const pid = await pids.opened;
    await db.sql("select pg_terminate_backend($1)", [pid]);
    await expect
      .poll(() => db.sql("select from pg_stat_activity where pid = $1", [pid]), { timeout: 10_000 })
      .toEqual([]);
    ended.open();
    expect(await handle.value({ timeoutMs: 15_000 })).toBe("done");
    expect(seen).toMatchObject([{ code: "DATABASE_UNAVAILABLE", retryable: true }]);
    expect(await db.sql("select note from effects")).toEqual([{ note: "second" }]);
  },
);

test("ctx.transaction rejects with the handler's own error, even if that looks like a lost connection", async () => {
  const refusal = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  const seen: unknown[] = [];
  const work = task(async (ctx) => {
    await ctx
      .transaction(() => Promise.reject(refusal))
      .catch((error: unknown) => seen.push(error));
    return "done";
  });
  const app = db.app({ tasks: [work] });
  await app.worker().start();
  expect(await (await app.send(work)).value({ timeoutMs: 10_000 })).toBe("done");
  expect(seen).toEqual([refusal]);
});
