/** The app of worker processes whose database has two hosts. */
import { defineTask, posthaste } from "posthaste";

/** Writes through the pool for tasks, in one commit with its completion. */
export const noteInTransaction = defineTask({
  name: "note-in-transaction",
  run: (n: number, ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query("insert into notes (n) values ($1)", [n]);
      return n;
    }),
});

export const app = posthaste({
  tasks: [noteInTransaction],
  resilience: { dbRetryInitialMs: 100, dbRetryMaxMs: 500, notifyPollIntervalMs: 1_000 },
});
