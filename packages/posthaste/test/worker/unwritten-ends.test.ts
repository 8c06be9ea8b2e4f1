/** The number of ends that a worker may hold before the database has written them, and their effect on slots, hooks and caps. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { defineTask, fixed, type AppConfig } from "../../src/index.ts";
import { recordEvents } from "../hooks/recorded-events.ts";
import { askDatabase } from "../support/ask-database.ts";
import { blockEnds, unblockEnds } from "../support/block-ends.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);

const CONCURRENCY = 4;

describe("a worker whose ends cannot be written", () => {
  /** Finishes 50 tasks of different lengths, and returns how many finish before an end can be written. */
  async function finishedWhileBlocked(
    onCrash: "policy" | "requeue",
    config: Omit<AppConfig, "tasks" | "database">,
  ): Promise<number> {
    let finished = 0;
    const task = defineTask({
      name: "note",
      ...(onCrash === "requeue" ? { onCrash } : {}),
      run: async (n: number) => {
        await sleep(n % 7);
        finished++;
        return n;
      },
    });
    const app = db.app({ tasks: [task], ...config });
    const handles = await app.sendMany(
      task,
      Array.from({ length: 50 }, (_, n) => n),
    );
    const meanwhile = await askDatabase(db.url, async (holder) => {
      await blockEnds(holder);
      await app.worker({ concurrency: CONCURRENCY }).start();
      await standstill(() => finished);
      const count = finished;
      await unblockEnds(holder);
      return count;
    });
    const results = await Promise.all(handles.map((each) => each.result({ timeoutMs: 60_000 })));
    expect(results.filter(({ ok }) => ok)).toHaveLength(50);
    expect(finished).toBe(50);
    return meanwhile;
  }

  // A batch of ends that is sent frees its slots. Usually a claim travels with it and waits as the ends do. With startAhead, or while a
  // survey or a comparison of claims is under way, the claim travels alone, and tasks for the slots of that batch finish, too.
  test.each([
    ["by default", {}],
    ["with startAhead", { prefetchBuffer: 50, startAhead: true }],
  ])(
    "%s the worker finishes as many tasks as it has slots, and at most one batch more",
    async (_, config) => {
      const finished = await finishedWhileBlocked("policy", config);
      expect(finished).toBeGreaterThanOrEqual(CONCURRENCY);
      expect(finished).toBeLessThanOrEqual(2 * CONCURRENCY);
    },
  );

  test("with startAhead, tasks that may run again do not wait for their ends", async () => {
    const ahead = { prefetchBuffer: 50, startAhead: true };
    expect(await finishedWhileBlocked("requeue", ahead)).toBe(50);
  });
});

/** Resolves when a count has begun to grow and has not grown for a second. */
async function standstill(count: () => number): Promise<void> {
  await expect.poll(count).toBeGreaterThan(0);
  for (let before = 0; before !== count();) {
    before = count();
    await sleep(1_000);
  }
}

describe("hooks", () => {
  test("hooks report the end of an attempt before the start of the next attempt, whichever session answers first", async () => {
    const { hooks, events } = recordEvents();
    const task = defineTask({
      name: "again",
      retry: fixed({ intervalsMs: [0, 0, 0], retryFor: ["UNHANDLED_ERROR"] }),
      run: async (_: number, ctx) => {
        if (ctx.attempt < 4) throw new Error("not yet");
        return null;
      },
    });
    const app = db.app({ tasks: [task], hooks });
    const handles = await app.sendMany(
      task,
      Array.from({ length: 100 }, (_, n) => n),
    );
    await app.worker({ concurrency: 10 }).start();
    await Promise.all(handles.map((each) => each.result({ timeoutMs: 60_000 })));
    const told = (id: string): string[] =>
      events
        .filter((event) => event.id === id)
        .map(({ event, attempt }) => `${event} ${String(attempt)}`);
    await expect
      .poll(() => handles.filter(({ id }) => !told(id).includes("taskCompleted 4")))
      .toEqual([]);
    const expected = [1, 2, 3].flatMap((n) => [`taskStarted ${n}`, `taskRetried ${n}`]);
    for (const { id } of handles)
      expect(told(id).filter((event) => !event.startsWith("taskSent"))).toEqual([
        ...expected,
        "taskStarted 4",
        "taskCompleted 4",
      ]);
  });
});

describe("caps", () => {
  test("a queue with a cap of one starts its next task as soon as an end is written", async () => {
    const task = defineTask({ name: "one", queue: "narrow", run: async (n: number) => n });
    const app = db.app({ tasks: [task], queues: { narrow: { maxConcurrency: 1 } } });
    const handles = await app.sendMany(
      task,
      Array.from({ length: 40 }, (_, n) => n),
    );
    const startedAt = performance.now();
    await app.worker({ concurrency: 5, queues: ["narrow"] }).start();
    await Promise.all(handles.map((each) => each.result({ timeoutMs: 60_000 })));
    // If an end did not report the free room, each task would wait 250 ms for the next claim: 10 s in all.
    expect(performance.now() - startedAt).toBeLessThan(8_000);
  });
});

test("a worker has one session for claims and one for ends, and none for nodes before its first node", async () => {
  const task = defineTask({ name: "one", run: async (n: number) => n });
  const app = db.app({ tasks: [task] });
  await app.worker({ concurrency: 5 }).start();
  expect(await (await app.send(task, 1)).result()).toMatchObject({ ok: true });
  const rows = await db.sql<{ name: string }>(
    `select application_name as name from pg_stat_activity
      where datname = current_database() and application_name in ('posthaste worker', 'posthaste ends', 'posthaste workflow nodes')
      order by 1`,
  );
  expect(rows.map(({ name }) => name)).toEqual(["posthaste ends", "posthaste worker"]);
});
