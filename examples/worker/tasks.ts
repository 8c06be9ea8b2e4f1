/** The tasks of a small shop: each shows one thing that a running task can do. */
import { setTimeout as pause } from "node:timers/promises";
import { isMainThread } from "node:worker_threads";
import { defineTask, fail, fixed } from "posthaste";
import { z } from "zod";

export const sendReceipt = defineTask({
  name: "send-receipt",
  queue: "mail",
  input: z.object({ order: z.string(), cents: z.number() }),
  run: async ({ order, cents }, ctx) =>
    `${ctx.context.sender}: ${order} costs ${(cents / 100).toFixed(2)}`,
});

/** The charge, the receipt and the completion of the task are one commit. */
export const charge = defineTask({
  name: "charge",
  input: z.object({ account: z.string(), order: z.string(), cents: z.number().int().positive() }),
  errors: ["NO_FUNDS"],
  run: ({ account, order, cents }, ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query('insert into charges ("order", cents) values ($1, $2)', [order, cents]);
      const { rows } = await tx.query<{ cents: number }>(
        "update accounts set cents = cents - $2 where name = $1 and cents >= $2 returning cents",
        [account, cents],
      );
      const [left] = rows;
      if (left === undefined) return fail("NO_FUNDS", `not enough for ${order}`); // rolls back
      const receipt = await ctx.send(sendReceipt, { order, cents }, { tx });
      return { left: left.cents, receipt: receipt.id };
    }),
});

/** The same with a transaction of your own: what an ORM or a pool of yours gives you. */
export const bookSeat = defineTask({
  name: "book-seat",
  input: z.object({ seat: z.string() }),
  run: async ({ seat }, ctx) => {
    const client = await ctx.context.pool.connect();
    try {
      await client.query("begin");
      await client.query("insert into seats (seat, task) values ($1, $2)", [seat, ctx.taskId]);
      const booked = await ctx.complete({ seat }, { tx: client });
      await client.query("commit");
      return booked;
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  },
});

/** Says how far it is, and stops between two rows when it is told to. */
export const importRows = defineTask({
  name: "import-rows",
  input: z.object({ rows: z.number() }),
  run: async ({ rows }, ctx) => {
    for (let done = 1; done <= rows; done++) {
      ctx.signal.throwIfAborted();
      await pause(1);
      ctx.progress({ done, of: rows });
    }
    return rows;
  },
});

/** Passes its signal on, so that what it waits for is given up too. */
export const askPartner = defineTask({
  name: "ask-partner",
  timeoutMs: 200,
  retry: fixed({ intervalsMs: [10], retryFor: ["TASK_TIMEOUT"] }),
  run: async (answersAfterMs: number, ctx) => {
    await pause(answersAfterMs, undefined, { signal: ctx.signal });
    return "an answer";
  },
});

/** Computes without a pause: on the worker's own thread nothing else would run meanwhile. */
export const countPrimes = defineTask({
  name: "count-primes",
  blocking: true,
  timeoutMs: 20_000,
  input: z.object({ below: z.number() }),
  run: ({ below }, ctx) => {
    let primes = 0;
    for (let n = 2; n < below; n++) {
      if (n % 10_000 === 0) ctx.signal.throwIfAborted(); // heard although this loop never waits
      if (isPrime(n)) primes++;
    }
    return { primes, isMainThread };
  },
});

function isPrime(n: number): boolean {
  for (let divisor = 2; divisor * divisor <= n; divisor++) if (n % divisor === 0) return false;
  return true;
}
