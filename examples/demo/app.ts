/** The demo's tasks. Every handler writes what it does into a ledger outside the database, which the demo compares with it. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, exponential, fail, posthaste, type TaskContext } from "posthaste";
import { z } from "zod";

const { DEMO_SCHEMA = "demo", DEMO_LEDGER = "." } = process.env;

function enter(ctx: TaskContext, event: "begin" | "done"): void {
  const line = JSON.stringify({
    event,
    task: ctx.taskId,
    claim: ctx.claimId,
    attempt: ctx.attempt,
  });
  appendFileSync(join(DEMO_LEDGER, `${process.pid}.ndjson`), `${line}\n`);
}

/** Ends at once. If its worker dies, it may run again. */
export const greet = defineTask({
  name: "greet",
  onCrash: "requeue",
  input: z.object({ name: z.string() }),
  run: async ({ name }, ctx) => {
    enter(ctx, "begin");
    await sleep(20);
    enter(ctx, "done");
    return `Hello, ${name}!`;
  },
});

/** Takes a while: some of these are running when a worker is killed. They may run again, too. */
export const renderReport = defineTask({
  name: "render-report",
  onCrash: "requeue",
  input: z.object({ pages: z.number().int().positive() }),
  run: async ({ pages }, ctx) => {
    enter(ctx, "begin");
    await sleep(100 * pages);
    enter(ctx, "done");
    return { pages };
  },
});

/** Fails for a reason of its own, and is not tried again, least of all when nobody knows how far it came. */
export const chargeCard = defineTask({
  name: "charge-card",
  onCrash: "fail",
  input: z.object({ cents: z.number().int() }),
  errors: ["CARD_DECLINED"],
  run: (_input, ctx) => {
    enter(ctx, "begin");
    return fail("CARD_DECLINED", "the bank said no");
  },
});

/** Fails twice, then works. */
export const fetchPage = defineTask({
  name: "fetch-page",
  input: z.object({ url: z.string() }),
  errors: ["SITE_BUSY"],
  retry: exponential({ baseMs: 200, maxRetries: 3, retryFor: ["SITE_BUSY", "WORKER_CRASHED"] }),
  run: ({ url }, ctx) => {
    enter(ctx, "begin");
    if (ctx.attempt < 3) return fail("SITE_BUSY");
    enter(ctx, "done");
    return { url, bytes: 1_024 };
  },
});

export const app = posthaste({
  schema: DEMO_SCHEMA,
  tasks: [greet, renderReport, chargeCard, fetchPage],
  resilience: { notifyPollIntervalMs: 1_000 },
  recovery: { checkIntervalMs: 1_000 },
});
