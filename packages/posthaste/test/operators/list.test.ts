/** Lists of tasks for operators: which tasks, in which order, page by page. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { ListTasksOptions, Posthaste, TaskSummary } from "../../src/index.ts";
import { addActive, addReady, newQueue, type ActiveSeed } from "../store/task-rows.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);

const broken = (code = "BROKEN") => ({ code, error: `{"code":"${code}","message":"it broke"}` });

async function addEnded(edge: "fail" | "succeed", seeds: readonly ActiveSeed[], code?: string) {
  const claims = await addActive(db, seeds);
  const connection = await db.connect();
  for (const claim of claims)
    await db.store.settleTasks(connection, [{ ...claim, edge, ran: true, ...broken(code) }]);
  return claims.map(({ id }) => id);
}

/** All pages, of two tasks each. */
async function all(app: Posthaste, options: ListTasksOptions): Promise<TaskSummary[]> {
  const found: TaskSummary[] = [];
  let cursor: string | undefined;
  do {
    const page = await app.admin.tasks.list({ limit: 2, ...options, ...(cursor && { cursor }) });
    found.push(...page.tasks);
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}

const idsOf = (tasks: readonly TaskSummary[]): string[] => tasks.map(({ id }) => id);
const descending = (ids: readonly string[]): string[] => ids.toSorted((a, b) => (a < b ? 1 : -1));

describe("admin.tasks.list", () => {
  test("shows FAILED tasks by their end, latest first, with the error", async () => {
    const app = db.app();
    const seed = { name: "greet", queue: "mail", priority: 7 };
    const ids = await addEnded("fail", [seed, seed, seed]);

    const tasks = await all(app, { status: "FAILED" });
    expect(idsOf(tasks)).toEqual(ids.toReversed());
    expect(tasks[0]).toMatchObject({
      name: "greet",
      queue: "mail",
      priority: 7,
      status: "FAILED",
      attempts: 1,
      errorCode: "BROKEN",
      errorMessage: "it broke",
      copyOf: null,
      workflowId: null,
    });
    expect(tasks[0]?.finishedAt).toBeInstanceOf(Date);
  });

  test("filters ends by name, queue, code and worker, those of an older library included", async () => {
    const app = db.app();
    const workerId = randomUUID();
    const [mine = ""] = await addEnded("fail", [{ name: "a", queue: "x", workerId }], "MINE");
    const [old = ""] = await addEnded("fail", [{ name: "a", queue: "x" }], "MINE");
    const [young = ""] = await addEnded("fail", [{ name: "a", queue: "y" }], "YOURS");
    await addEnded("fail", [{ name: "b", queue: "z" }]);
    await db.sql(
      "update posthaste.finished_tasks set name = null, queue = null where task_id = $1",
      [old],
    );
    const status = "FAILED";

    expect(idsOf(await all(app, { status, name: "a" }))).toEqual([young, old, mine]);
    expect(idsOf(await all(app, { status, queue: "x" }))).toEqual([old, mine]);
    expect(idsOf(await all(app, { status, errorCode: "MINE" }))).toEqual([old, mine]);
    expect(idsOf(await all(app, { status, name: "a", errorCode: "YOURS" }))).toEqual([young]);
    expect(idsOf(await all(app, { status, worker: workerId }))).toEqual([mine]);
    expect(await all(app, { status: "CANCELLED", name: "a" })).toEqual([]);
  });

  test("filters ends by when they ended", async () => {
    const app = db.app();
    const [old = "", young = ""] = await addEnded("fail", [{ heldMs: 3_600_000 }, {}]);
    await db.sql(
      "update posthaste.finished_tasks set finished_at = started_at + interval '1 second' where task_id = $1",
      [old],
    );
    const before = new Date(Date.now() - 60_000);

    expect(idsOf(await all(app, { status: "FAILED", since: before }))).toEqual([young]);
    expect(idsOf(await all(app, { status: "FAILED", until: before }))).toEqual([old]);
  });

  test("finds the worker by its name", async () => {
    const app = db.app();
    const workerId = randomUUID();
    await db.store.registerWorker.register(await db.connect(), {
      workerId,
      name: "Worker-1",
      hostname: "h",
      pid: 1,
      version: "1.0.0",
      queues: [],
      taskNames: [],
      concurrency: 1,
      livenessKey: null,
      config: {},
      metadata: {},
    });
    const [claim] = await addActive(db, [{ workerId }, {}]);

    expect(idsOf(await all(app, { status: "RUNNING", worker: "Worker-1" }))).toEqual([claim?.id]);
    expect(idsOf(await all(app, { worker: "Worker-1" }))).toEqual([claim?.id]);
  });

  test("shows COMPLETED tasks by id, newest first, and random ids where they sort", async () => {
    const app = db.app();
    const ids = await addEnded("succeed", [{}, {}, {}, { name: "other", queue: "q" }]);
    await addEnded("fail", [{}]);

    expect(idsOf(await all(app, { status: "COMPLETED" }))).toEqual(descending(ids));
    expect(idsOf(await all(app, { status: "COMPLETED", name: "other", queue: "q" }))).toEqual([
      ids[3],
    ]);
  });

  test("shows PENDING tasks as they are claimed, queue after queue", async () => {
    const app = db.app();
    const [c, b, a, d] = await addReady(db, [
      { queue: "a", priority: 5 },
      { queue: "a", priority: 1, dueMs: -10 },
      { queue: "a", priority: 1, dueMs: -20 },
      { queue: "b", name: "late", priority: 1, dueMs: 60_000 },
    ]);

    expect(idsOf(await all(app, { status: "PENDING" }))).toEqual([a, b, c, d]);
    expect(idsOf(await all(app, { status: "PENDING", queue: "a" }))).toEqual([a, b, c]);
    expect(idsOf(await all(app, { status: "PENDING", name: "late" }))).toEqual([d]);
  });

  test("tells CLAIMED from RUNNING", async () => {
    const app = db.app();
    const [running, claimed] = await addActive(db, [{}, { status: "CLAIMED", name: "x" }]);

    expect(idsOf(await all(app, { status: "RUNNING" }))).toEqual([running?.id]);
    expect(idsOf(await all(app, { status: "CLAIMED" }))).toEqual([claimed?.id]);
    expect(await all(app, { status: "RUNNING", name: "x" })).toEqual([]);
  });

  test("shows tasks of every status without one, and filters by name, queue and time of sending", async () => {
    const app = db.app();
    const [ready = ""] = await addReady(db, [{ name: "n", queue: "q" }]);
    const [active] = await addActive(db, [{ name: "n", dueMs: -7_200_000 }]);
    const [failed = ""] = await addEnded("fail", [{ name: "n" }]);
    const [done = ""] = await addEnded("succeed", [{ name: "m" }]);
    const four = [ready, active?.id ?? "", failed, done];

    expect(idsOf(await all(app, {}))).toEqual(descending(four));
    expect(idsOf(await all(app, { name: "n" }))).toEqual(descending(four.slice(0, 3)));
    expect(idsOf(await all(app, { queue: "q" }))).toEqual([ready]);
    const hourAgo = new Date(Date.now() - 3_600_000);
    expect(idsOf(await all(app, { name: "n", until: hourAgo }))).toEqual([active?.id]);
  });

  test("finds the task of a name and a key", async () => {
    const app = db.app();
    const key = newQueue();
    const [id] = await addReady(db, [
      { name: "n", key },
      { name: "m", key },
    ]);

    expect(idsOf(await all(app, { name: "n", key }))).toEqual([id]);
    expect(await all(app, { name: "n", key, status: "FAILED" })).toEqual([]);
    await expect(all(app, { key })).rejects.toThrow("a key belongs to the tasks of one name");
  });

  test.each<ListTasksOptions>([
    { status: "DONE" as never },
    { errorCode: "X" },
    { errorCode: "X", status: "COMPLETED" },
    { cursor: "nonsense" },
    { limit: 0 },
    { limit: 1_001 },
  ])("refuses %j", async (options) => {
    await expect(db.app().admin.tasks.list(options)).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
    });
  });

  test("looks at 10,000 rows, says so, and goes on behind them", async () => {
    const app = db.app();
    // By id: the only task of its name is behind 12,000 others.
    await db.sql(
      `insert into posthaste.submissions (task_id, name, queue, priority, input, sent_at)
       select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, case n when 0 then 'rare' else 'usual' end,
              'q', 100, 'null', now() from generate_series(0, 12000) as n`,
    );
    await db.sql(
      `insert into posthaste.finished_tasks (task_id, finished_at, started_at, worker_id, claim_id)
       select task_id, now(), now(), gen_random_uuid(), gen_random_uuid() from posthaste.submissions`,
    );
    for (const options of [{ name: "rare" }, { name: "rare", status: "COMPLETED" }] as const) {
      const first = await app.admin.tasks.list(options);
      expect(first).toMatchObject({ tasks: [], partial: true, cursor: expect.any(String) });
      const second = await app.admin.tasks.list({ ...options, cursor: first.cursor ?? "" });
      expect(second).toMatchObject({ tasks: [{ name: "rare" }], partial: false, cursor: null });
    }
  });

  test("loses no row where ends with and without a name are joined behind a window", async () => {
    const app = db.app();
    // Every second end is of an older library; only the oldest of these and of the others is of queue "rare".
    await db.sql(
      `insert into posthaste.submissions (task_id, name, queue, priority, input, sent_at)
       select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'n',
              case when n < 2 then 'rare' else 'usual' end, 100, 'null', now() from generate_series(0, 23999) as n`,
    );
    await db.sql(
      `insert into posthaste.finished_tasks (task_id, finished_at, status, error_code, name, queue)
       select task_id, now() + row_number() over (order by task_id) * interval '1 second', 'FAILED', 'X',
              case when row_number() over (order by task_id) % 2 = 0 then name end,
              case when row_number() over (order by task_id) % 2 = 0 then queue end
         from posthaste.submissions`,
    );

    const found = await all(app, { status: "FAILED", name: "n", queue: "rare", limit: 100 });
    expect(found).toHaveLength(2);
    const every = await all(app, { status: "FAILED", name: "n", limit: 1_000 });
    expect(new Set(idsOf(every)).size).toBe(24_000);
  });
});
