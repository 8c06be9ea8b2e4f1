import { describe, expect, test } from "vitest";
import { TaskStatus } from "../../src/domain/task-lifecycle.ts";
import { useDatabase } from "../support/database.ts";
import { addOneActive, addOneReady, type TableRow } from "./task-rows.ts";

const db = useDatabase();

const broken = { code: "BROKEN", error: '{"code":"BROKEN","message":"it broke"}' };
const noEnd = { completed_at: null, failed_at: null, cancelled_at: null, finished_at: null };

async function view(id: string): Promise<TableRow> {
  const rows = await db.sql<{ task: TableRow }>(
    "select to_jsonb(t) as task from posthaste.tasks t where id = $1",
    [id],
  );
  expect(rows).toHaveLength(1);
  return rows[0]?.task ?? {};
}

describe("tasks view", () => {
  test("shows when a pending task is due, and no claim or end", async () => {
    const task = await view(await addOneReady(db, { input: { a: 1 }, priority: 3 }));

    expect(task).toMatchObject({
      status: "PENDING",
      input: { a: 1 },
      priority: 3,
      claimed_at: null,
      started_at: null,
      worker_id: null,
      last_error: null,
      ...noEnd,
    });
    expect(task["enqueued_at"]).not.toBeNull();
  });

  test("shows when a task is retried, and its last error", async () => {
    const claim = await addOneActive(db, { runs: 1, retryCount: 1 });
    await db.store.settleTasks(await db.connect(), [
      { ...claim, edge: "retry", ran: true, delayMs: 60_000, ...broken },
    ]);

    const task = await view(claim.id);

    expect(task).toMatchObject({
      status: "PENDING",
      attempt_no: 2,
      retry_count: 2,
      next_retry_at: task["enqueued_at"],
      last_error: { code: "BROKEN" },
      error: null,
      ...noEnd,
    });
    expect(task["next_retry_at"]).not.toBeNull();
  });

  test("shows the claim of a claimed task, and no start", async () => {
    const { id, claimId } = await addOneActive(db, { status: "CLAIMED" });

    const task = await view(id);

    expect(task).toMatchObject({
      status: "CLAIMED",
      claim_id: claimId,
      started_at: null,
      ...noEnd,
    });
    for (const column of ["claimed_at", "claim_expires_at", "worker_id"]) {
      expect(task[column]).not.toBeNull();
    }
  });

  test("shows the start of a running task, its last error and a requested cancellation", async () => {
    const { id } = await addOneActive(db, { runs: 1, isCancelRequested: true });

    const task = await view(id);

    expect(task).toMatchObject({ status: "RUNNING", last_error: { code: "EARLIER" }, ...noEnd });
    expect(task["started_at"]).not.toBeNull();
    expect(task["cancel_requested_at"]).not.toBeNull();
  });

  test("shows completed_at, the result and the last error of a completed task", async () => {
    const claim = await addOneActive(db, { runs: 1 });
    await db.store.settleTasks(await db.connect(), [
      { ...claim, edge: "succeed", ran: true, result: "[1]" },
    ]);

    const task = await view(claim.id);

    expect(task).toMatchObject({
      ...noEnd,
      status: "COMPLETED",
      completed_at: task["finished_at"],
      finished_at: task["finished_at"],
      result: [1],
      error: null,
      last_error: { code: "EARLIER" },
    });
    expect(task["finished_at"]).not.toBeNull();
  });

  test.each([
    ["FAILED", "failed_at", { code: "BROKEN" }],
    ["EXPIRED", "failed_at", { code: "TASK_EXPIRED" }],
    ["CANCELLED", "cancelled_at", { code: "TASK_CANCELLED" }],
  ] as const)("shows for a task that ended %s: %s and its error", async (status, column, error) => {
    const id = await addOneReady(db, status === "EXPIRED" ? { goodMs: -1 } : {});
    if (status === "EXPIRED") await db.store.expireTasks(await db.connect("reads"), 10);
    else if (status === "FAILED") await db.sql("select posthaste.fail($1, 'BROKEN')", [id]);
    else await db.sql("select posthaste.cancel($1)", [id]);

    const task = await view(id);

    expect(task).toMatchObject({
      ...noEnd,
      status,
      [column]: task["finished_at"],
      finished_at: task["finished_at"],
      error,
      last_error: error,
      error_code: error.code,
      result: null,
    });
    expect(task["finished_at"]).not.toBeNull();
  });

  const stateTables = ["ready_tasks", "active_tasks", "finished_tasks"];
  const tableOf: Readonly<Record<TaskStatus, string>> = {
    PENDING: "ready_tasks",
    CLAIMED: "active_tasks",
    RUNNING: "active_tasks",
    COMPLETED: "finished_tasks",
    FAILED: "finished_tasks",
    CANCELLED: "finished_tasks",
    EXPIRED: "finished_tasks",
  };

  test.each(Object.values(TaskStatus))(
    "reads only the table that holds tasks of status %s for a filter on it",
    async (status) => {
      const rows = await db.sql<{ "QUERY PLAN": string }>(
        `explain select id from posthaste.tasks where status = '${status}'`,
      );

      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      const read = stateTables.filter((table) => plan.includes(table));
      expect(read).toEqual([tableOf[status]]);
    },
  );

  test("reads only the table of a status that is given as a parameter", async () => {
    await db.sql("set plan_cache_mode = force_generic_plan");
    await db.sql("prepare by_status (text) as select id from posthaste.tasks where status = $1");
    const rows = await db.sql<{ "QUERY PLAN": string }>(
      "explain (analyze, costs off, timing off) execute by_status ('PENDING')",
    );

    const read = rows.map((row) => row["QUERY PLAN"]).filter((line) => line.includes("_tasks"));
    const executed = read.filter((line) => !line.includes("never executed"));
    expect(read.some((line) => line.includes("finished_tasks"))).toBe(true);
    expect(executed.length).toBeGreaterThan(0);
    expect(executed.filter((line) => !line.includes("ready_tasks"))).toEqual([]);
  });
});
