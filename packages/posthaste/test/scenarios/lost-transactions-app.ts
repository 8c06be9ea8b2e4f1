/** The app of a worker whose `ctx.transaction` connections are ended by the server. */
import { existsSync, appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, fail, posthaste, PosthasteError } from "posthaste";

const folder = process.env["SCENARIO_FOLDER"] ?? ".";

function note(file: string, line: string): void {
  appendFileSync(join(folder, file), `${line}\n`);
}

async function until(file: string): Promise<void> {
  while (!existsSync(join(folder, file))) await sleep(20);
}

/** Opens a connection, gives it back, and goes on without one until the file `end` is there. */
export const bystander = defineTask({
  name: "bystander",
  errors: ["NOTHING_TO_DO"],
  run: async (_: null, ctx) => {
    await ctx.transaction(async (tx) => {
      await tx.query("select pg_sleep(0.3)"); // so that each of them needs a connection of its own
      return fail("NOTHING_TO_DO");
    });
    note("bystanders", ctx.taskId);
    await until("end");
    return ctx.attempt;
  },
});

/** Holds a transaction until the file `end` is there, and tries again when its connection is lost. */
export const user = defineTask({
  name: "user",
  run: async (_: null, ctx): Promise<{ readonly losses: readonly string[] }> => {
    const losses: string[] = [];
    for (;;) {
      try {
        return await ctx.transaction(async (tx) => {
          const { rows } = await tx.query("select pg_backend_pid() as pid");
          note("users", String((rows[0] as { pid: number }).pid));
          await until("end");
          await tx.query("select 1");
          return { losses };
        });
      } catch (error) {
        if (!(error instanceof PosthasteError)) throw error;
        losses.push(`${error.code}, ${error.retryable ? "retryable" : "final"}`);
      }
    }
  },
});

const url = process.env["DATABASE_URL"];

export const app = posthaste({
  tasks: [bystander, user],
  ...(url !== undefined && { database: { url, poolSize: 20 } }),
});
