/** Prefetched tasks that are requeued or released while their start is under way. */
import { expect, test } from "vitest";
import { BEGIN } from "../../src/store/transaction.ts";
import { sql, statement } from "../../src/store/sql.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { useHeldTasks } from "./held-task.ts";

const db = useDatabase();
useCleanTables(db);
const heldTask = useHeldTasks();

const LOCK_CLAIMED = statement(
  sql`select from posthaste.active_tasks where started_at is null for update`,
);
const ROLLBACK = statement(sql`rollback`);

async function claims(): Promise<string[]> {
  const rows = await db.sql<{ claim: string }>(
    "select claim_id as claim from posthaste.active_tasks where started_at is null",
  );
  return rows.map(({ claim }) => claim);
}

/** Whether a statement of a worker waits for a lock. */
async function isWaiting(): Promise<boolean> {
  const rows = await db.sql(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rows.length > 0;
}

test("a task that is requeued from the buffer and prefetched again runs once, under its new claim", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task], prefetchBuffer: 3 });
  await app.worker({ concurrency: 2 }).start();
  const [, , handle] = await app.sendMany(held.task, ["a", "b", "c"]);
  await held.begun(2);
  await expect.poll(claims).toHaveLength(1);
  const [first] = await claims();
  await db.sql("select posthaste.requeue($1)", [handle?.id]);
  await expect.poll(async () => (await claims())[0] ?? first).not.toBe(first);
  const [second] = await claims();

  held.finishAll(); // two slots become free at once, for two claims of one task
  await held.begun(3);
  held.finishAll();
  await handle?.value({ timeoutMs: 30_000 });
  expect(held.inputs()).toEqual(["a", "b", "c"]);
  expect(held.bodies[2]?.ctx.claimId).toBe(second);
});

test.each([
  ["its worker stops", (worker: { stop(): Promise<void> }) => worker.stop()],
  [
    "its queue is paused",
    async () => {
      await db.sql("select posthaste.pause_queue('default')");
    },
  ],
])("a task that is being started does not run when %s", async (_, giveBack) => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task], prefetchBuffer: 1 });
  const worker = await app.worker({ concurrency: 1 }).start();
  const [, handle] = await app.sendMany(held.task, ["a", "b"]);
  await held.begun(1);
  await expect.poll(claims).toHaveLength(1);
  const other = await db.connect();
  await other.query(BEGIN);
  await other.query(LOCK_CLAIMED);
  held.finishAll();
  await expect.poll(isWaiting).toBe(true); // the start of "b"

  const given = giveBack(worker);
  await expect
    .poll(() =>
      db.sql(
        "select from posthaste.workers where state = 'stopping' union all select from posthaste.queues",
      ),
    )
    .toHaveLength(1);
  await other.query(ROLLBACK);
  await expect.poll(async () => (await handle?.info())?.status).toBe("PENDING");
  await given;
  expect(held.inputs()).toEqual(["a"]);
  expect((await handle?.info())?.attempts).toEqual([]);
});
