/** The app of worker processes whose tasks write into the user's own tables, or wait to be told. */
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { defineTask, posthaste } from "posthaste";

const folder = process.env["SCENARIO_FOLDER"] ?? ".";
/** Whoever imports only the tasks has none. */
const url = process.env["DATABASE_URL"] ?? "postgres://nobody@127.0.0.1:1/none";

/** Connections of the app's own, as its ORM would have them. */
const pool = new pg.Pool({ connectionString: url, max: 10 });
pool.on("error", () => undefined); // an idle one was cut: the next is opened when it is needed

/** Tables of the user's own. `effects` has no unique index: an effect that happens twice is to be seen. */
export const effectTables = `
  create table effects (task_id uuid not null);
  create table begun (task_id uuid not null, at timestamptz not null default clock_timestamp());
  create table cancelled (task_id uuid not null, at timestamptz not null default clock_timestamp());
  create table aborted (task_id uuid not null, at timestamptz not null default clock_timestamp())`;

const EFFECT = "insert into effects (task_id) values ($1)";

/** How far a handler is, written where a SIGKILL cannot undo it. */
function note(taskId: string, phase: "begun" | "written" | "ended"): void {
  appendFileSync(join(folder, `bodies-${process.pid}.txt`), `${taskId} ${phase}\n`);
}

const moment = (): Promise<void> => sleep(Math.random() * 10);

export const payInTransaction = defineTask({
  name: "pay-in-transaction",
  run: async (_input: null, ctx) => {
    note(ctx.taskId, "begun");
    await ctx.transaction(async (tx) => {
      await tx.query(EFFECT, [ctx.taskId]);
      note(ctx.taskId, "written");
      await moment();
      return null;
    });
    note(ctx.taskId, "ended");
    return null;
  },
});

export const payAndComplete = defineTask({
  name: "pay-and-complete",
  run: async (_input: null, ctx) => {
    note(ctx.taskId, "begun");
    const client = await pool.connect();
    try {
      await client.query("begin");
      await client.query(EFFECT, [ctx.taskId]);
      note(ctx.taskId, "written");
      await moment();
      await ctx.complete(null, { tx: client });
      await moment();
      await client.query("commit");
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
    note(ctx.taskId, "ended");
    return null;
  },
});

/** Says that it has begun, and when its signal aborts. */
export const untilAborted = defineTask({
  name: "until-aborted",
  run: async (_input: null, ctx) => {
    const heard = new Promise<void>((resolve) => {
      ctx.signal.addEventListener("abort", () => resolve());
    });
    await pool.query("insert into begun (task_id) values ($1)", [ctx.taskId]);
    await heard;
    await pool.query("insert into aborted (task_id) values ($1)", [ctx.taskId]);
    return null;
  },
});

/** Holds its transaction open until the file `go` is there. */
export const holdTransaction = defineTask({
  name: "hold-transaction",
  run: (_input: null, ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query(EFFECT, [ctx.taskId]);
      note(ctx.taskId, "written");
      while (!existsSync(join(folder, "go"))) await sleep(20);
      return null;
    }),
});

export const plain = defineTask({ name: "plain", run: () => null });

export const app = posthaste({
  database: { url, poolSize: 100 },
  tasks: [payInTransaction, payAndComplete, untilAborted, holdTransaction, plain],
});
