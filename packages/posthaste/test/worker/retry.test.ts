import { expect, test } from "vitest";
import { defineTask, exponential, fail, fixed, type TaskHandle } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { SOON_MS } from "../support/soon.ts";

const db = useDatabase();
useCleanTables(db);

const steady = { jitter: false } as const;

/** The pauses between the end of one attempt and the time of the next, as stored. */
async function delays(handle: TaskHandle): Promise<number[]> {
  const rows = await db.sql<{ ms: number }>(
    `select (extract(epoch from next_due - finished_at) * 1000)::float8 as ms from (
       select finished_at, attempt_no, lead(started_at) over (order by attempt_no) as next_due from (
         select attempt_no, started_at, finished_at from posthaste.attempts where task_id = $1
         union all
         select attempt_no, started_at, finished_at from posthaste.finished_tasks where task_id = $1
       ) as runs
     ) as pairs where next_due is not null order by attempt_no`,
    [handle.id],
  );
  return rows.map(({ ms }) => ms);
}

test("a failed task is retried until it succeeds, and ctx.attempt is the number of each attempt", async () => {
  const attempts: number[] = [];
  const flaky = defineTask({
    name: "flaky",
    errors: ["BUSY"],
    retry: fixed({ intervalsMs: [0, 0, 0], retryFor: ["BUSY"] }),
    run: (_: null, ctx) => {
      attempts.push(ctx.attempt);
      return ctx.attempt < 3 ? fail("BUSY") : "at last";
    },
  });
  const app = db.app({ tasks: [flaky] });
  await app.worker().start();
  const handle = await app.send(flaky);
  expect(await handle.value({ timeoutMs: 30_000 })).toBe("at last");
  expect(attempts).toEqual([1, 2, 3]);
  expect(await handle.info()).toMatchObject({
    status: "COMPLETED",
    retryCount: 2,
    errorCode: null,
    attempts: [
      { attempt: 1, outcome: "FAILED", willRetry: true, errorCode: "BUSY" },
      { attempt: 2, outcome: "FAILED", willRetry: true, errorCode: "BUSY" },
      { attempt: 3, outcome: "COMPLETED", willRetry: false, errorCode: null },
    ],
  });
});

test("a task without retries left FAILS with its last error", async () => {
  const hopeless = defineTask({
    name: "hopeless",
    errors: ["BUSY"],
    retry: fixed({ intervalsMs: [0, 0], retryFor: ["BUSY"] }),
    run: (_: null, ctx) => fail("BUSY", `attempt ${ctx.attempt}`),
  });
  const app = db.app({ tasks: [hopeless] });
  await app.worker().start();
  const handle = await app.send(hopeless);
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "BUSY", message: "attempt 3" },
  });
  expect(await handle.info()).toMatchObject({ status: "FAILED", retryCount: 2 });
  expect((await handle.info()).attempts).toHaveLength(3);
});

test("a task that waits for its retry is PENDING and has the time of the retry in nextRetryAt", async () => {
  const busy = defineTask({
    name: "busy",
    errors: ["BUSY"],
    retry: fixed({ intervalsMs: [3_600_000], retryFor: ["BUSY"], ...steady }),
    run: () => fail("BUSY", "in an hour"),
  });
  const app = db.app({ tasks: [busy] });
  await app.worker().start();
  const handle = await app.send(busy);
  await expect.poll(async () => (await handle.info()).retryCount).toBe(1);
  const info = await handle.info();
  expect(info).toMatchObject({ status: "PENDING", retryCount: 1, worker: null });
  expect(info.nextRetryAt).toEqual(info.enqueuedAt);
  const [attempt] = info.attempts;
  expect(Number(info.nextRetryAt) - Number(attempt?.finishedAt)).toBe(3_600_000);
  const [row] = await db.sql("select last_error from posthaste.tasks where id = $1", [handle.id]);
  expect(row).toEqual({ last_error: { code: "BUSY", message: "in an hour" } });
});

test("a fixed policy waits as listed, and an exponential policy doubles its delay up to maxDelayMs", async () => {
  const run = () => fail("BUSY");
  const listed = defineTask({
    name: "listed",
    errors: ["BUSY"],
    retry: fixed({ intervalsMs: [100, 20, 60], retryFor: ["BUSY"], ...steady }),
    run,
  });
  const doubling = defineTask({
    name: "doubling",
    errors: ["BUSY"],
    retry: exponential({
      baseMs: 40,
      maxRetries: 4,
      maxDelayMs: 100,
      retryFor: ["BUSY"],
      ...steady,
    }),
    run,
  });
  const resilience = { notifyPollIntervalMs: 60_000 };
  const app = db.app({ tasks: [listed, doubling], resilience });
  await app.worker().start();
  const handles: TaskHandle[] = [await app.send(listed), await app.send(doubling)];
  for (const handle of handles) await handle.result({ timeoutMs: 30_000 });
  for (const [index, expected] of [
    [100, 20, 60],
    [40, 80, 100, 100],
  ].entries()) {
    const handle = handles[index];
    const waited = handle === undefined ? [] : await delays(handle);
    expect(waited).toHaveLength(expected.length);
    for (const [n, ms] of waited.entries()) {
      expect(ms).toBeGreaterThanOrEqual(expected[n] ?? Infinity);
      expect(ms).toBeLessThan((expected[n] ?? 0) + SOON_MS);
    }
  }
});

test("jitter spreads the retries of tasks that failed together by a quarter either way", async () => {
  const busy = defineTask({
    name: "busy",
    errors: ["BUSY"],
    retry: fixed({ intervalsMs: [1_000_000], retryFor: ["BUSY"] }),
    run: () => fail("BUSY"),
  });
  const app = db.app({ tasks: [busy] });
  await app.worker({ concurrency: 50 }).start();
  await app.sendMany(
    busy,
    Array.from({ length: 200 }, () => undefined),
  );
  await expect.poll(async () => (await db.sql("select from posthaste.attempts")).length).toBe(200);
  const [row] = await db.sql<{ least: number; most: number; different: number }>(
    `select min(ms) as least, max(ms) as most, count(distinct ms)::int as different from (
       select (extract(epoch from t.next_retry_at - a.finished_at) * 1000)::float8 as ms
         from posthaste.tasks t join posthaste.attempts a on a.task_id = t.id) as waits`,
  );
  expect(row?.least).toBeGreaterThanOrEqual(750_000);
  expect(row?.most).toBeLessThanOrEqual(1_250_000);
  expect(row?.least).toBeLessThan(900_000);
  expect(row?.most).toBeGreaterThan(1_100_000);
  expect(row?.different).toBeGreaterThan(150);
});

test("only errors with a code of retryFor are retried", async () => {
  const picky = defineTask({
    name: "picky",
    errors: ["BUSY", "GONE"],
    retry: fixed({ intervalsMs: [0], retryFor: ["BUSY"] }),
    run: (code: "BUSY" | "GONE" | "throw") => {
      if (code === "throw") throw new Error("no");
      return fail(code);
    },
  });
  const app = db.app({ tasks: [picky] });
  await app.worker().start();
  const handles = await app.sendMany(picky, ["BUSY", "GONE", "throw"]);
  for (const handle of handles) await handle.result({ timeoutMs: 30_000 });
  const infos = await Promise.all(handles.map((handle) => handle.info()));
  expect(infos.map(({ attempts }) => attempts.length)).toEqual([2, 1, 1]);
});

test('retryFor "any" retries returned failures and thrown errors', async () => {
  const anyhow = defineTask({
    name: "anyhow",
    errors: ["BUSY"],
    retry: fixed({ intervalsMs: [0], retryFor: "any" }),
    run: (how: string) => {
      if (how === "throw") throw new Error("no");
      return fail("BUSY");
    },
  });
  const app = db.app({ tasks: [anyhow] });
  await app.worker().start();
  const handles = await app.sendMany(anyhow, ["say", "throw"]);
  for (const handle of handles) await handle.result({ timeoutMs: 30_000 });
  const infos = await Promise.all(handles.map((handle) => handle.info()));
  expect(infos.map(({ attempts }) => attempts.length)).toEqual([2, 2]);
});
