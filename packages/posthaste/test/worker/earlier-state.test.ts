/** A failover to a lagging standby, or a restored backup, brings back a claim that the worker has ended. */
import { expect, test } from "vitest";
import { defineTask, type AppConfig } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait-until.ts";

const db = useDatabase();
useCleanTables(db);

const recovery: AppConfig["recovery"] = {
  runnerHeartbeatIntervalMs: 1_000,
  claimerHeartbeatIntervalMs: 1_000,
  crashGraceMs: 1_000,
};

const runs: string[] = [];
const chargeOnce = defineTask({
  name: "charge-once",
  onCrash: "fail",
  run: (_input: undefined, { taskId }) => void runs.push(taskId),
});
const runAgain = defineTask({
  name: "run-again",
  onCrash: "requeue",
  run: (_input: undefined, { taskId }) => void runs.push(taskId),
});

/** Restores the row as it was while the task ran. */
const GO_BACK = `
  with gone as (delete from posthaste.finished_tasks where task_id = $1 returning *)
  insert into posthaste.active_tasks (task_id, claim_id, worker_id, started_at)
  select task_id, claim_id, worker_id, clock_timestamp() from gone`;

test.each([
  [chargeOnce, "FAILED", "fail", 1],
  [runAgain, "COMPLETED", "requeue", 2],
] as const)(
  "the crash rule decides about a restored claim of $0.name, and the handler never runs under the old claim",
  async (task, status, decision, times) => {
    const app = db.app({ tasks: [chargeOnce, runAgain], recovery });
    await app.worker().start();
    const handle = await app.send(task);
    await handle.result({ timeoutMs: 20_000 });

    await db.sql(GO_BACK, [handle.id]);

    const [row] = await waitUntil("the recovery", async () => {
      const rows = await app.admin.recoveries.list({ taskId: handle.id });
      return rows.length > 0 && rows;
    });
    expect(row).toMatchObject({ reason: "claim unknown", status: "RUNNING", decision });
    expect(row?.evidence.reason).toContain("earlier state");
    await waitUntil("its end", async () => (await handle.info()).status === status);
    expect(runs.filter((id) => id === handle.id)).toHaveLength(times);
  },
);
