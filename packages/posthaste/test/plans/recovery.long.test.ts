/** Recovery among half a million tasks and many earlier recoveries: it reads what is under way, and little else. */
import { beforeAll, describe, expect, test } from "vitest";
import type { RecoveryCriteria } from "../../src/store/queries/recover/recovery-causes.ts";
import { migrate } from "../../src/store/migrate.ts";
import { createStore } from "../../src/store/store.ts";
import { recovery } from "../store/recovery-steps.ts";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";
import { explain, prepare } from "./explain.ts";

const SCHEMA = "filled";
const db = useDatabase({ isEmpty: true });
const store = createStore(SCHEMA);

const TASKS = 500_000;
const ACTIVE = 2_000;
const id = "lpad(to_hex(n), 32, '0')::uuid";
const claim = "('0000000c' || lpad(to_hex(n), 24, '0'))::uuid";
const worker = "('0000000f' || lpad(to_hex(n % 20), 24, '0'))::uuid";

function uuid(n: number, kind = 0): string {
  const digits = kind.toString(16).padStart(8, "0") + n.toString(16).padStart(24, "0");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

beforeAll(async () => {
  await migrate(await db.connect("reads"), SCHEMA);
  await db.sql(`
    set synchronous_commit = off;
    insert into ${SCHEMA}.submissions (task_id, name, queue, priority, input, flags, sent_at)
    select ${id}, 'some-task', 'default', 100, '{}', case when n % 3 = 0 then '{"infrastructure_resilient": true}'::jsonb end,
           now() - interval '1 day'
      from generate_series(1, ${TASKS}) as n;
    -- the first twenty are unknown to the registry, which has ten that are dead and ten that are silent
    insert into ${SCHEMA}.active_tasks
      (task_id, claim_id, worker_id, enqueued_at, attempt_no, claimed_at, started_at, claim_expires_at)
    select ${id}, ${claim}, case when n <= 20 then gen_random_uuid() else ${worker} end,
           now() - interval '1 day', 1, now() - interval '1 hour',
           case when n % 2 = 0 then now() - interval '1 hour' end, case when n % 2 = 1 then now() - interval '1 min' end
      from generate_series(1, ${ACTIVE}) as n;
    insert into ${SCHEMA}.workers
      (worker_id, name, hostname, pid, version, queues, task_names, concurrency, state, last_heartbeat_at,
       lock_missing_since)
    select ${worker}, 'w', 'h', 1, '1', '{}', '{}', 1, case when n < 10 then 'dead' else 'running' end,
           now() - interval '1 hour', case when n < 10 then now() - interval '1 hour' end
      from generate_series(0, 19) as n;
    insert into ${SCHEMA}.recoveries
      (task_id, claim_id, worker_id, recovered_at, due_at, attempt_no, status, reason, decision, recovered_by, evidence)
    select ${id}, gen_random_uuid(), gen_random_uuid(), now() - interval '1 day', now() + interval '1 day', 1, 'RUNNING',
           'run stale', 'skip', 'admin', '{}'
      from generate_series(1, 200000) as n;
    analyze`);
});

const timed = { thresholdMs: 1_000, multiplier: 3, flags: ["infrastructure_resilient"] } as const;
const causes: RecoveryCriteria[] = [
  { cause: "worker crashed", ...timed },
  { cause: "worker silent", ...timed },
  { cause: "worker unknown", ...timed },
  { cause: "claim stale", ...timed },
  { cause: "run stale", ...timed },
  { cause: "lease expired" },
  {
    cause: "shutdown",
    claims: [2, 4, 6].map((n) => ({ id: uuid(n), claimId: uuid(n, 0xc) })),
  },
];

describe("recoverTasks", () => {
  // The plan of the first run, and the one that is kept after several.
  describe.each([1, 7])("after %i executions", (runs) => {
    test.each(causes)("finds by index: $cause", async (criteria) => {
      const connection = await db.connect("reads");
      const page = { limit: 200, afterId: uuid(0) };
      const found = await store.recoverTasks.find(connection, criteria, page);
      expect(found.length).toBeGreaterThan(2);
      const call = await prepare(
        connection,
        (one) => store.recoverTasks.find(one, criteria, page),
        runs,
      );
      const plan = await explain(connection, call);
      figures(`find: ${criteria.cause}`, { rows: found.length, buffers: plan.buffers });
      expect(
        plan.scannedTables.filter((table) => !["active_tasks", "workers"].includes(table)),
      ).toEqual([]);
      // A page is two hundred tasks, each with its submission, its flags and its earlier recoveries, at four pages each.
      expect(plan.buffers).toBeLessThan(ACTIVE * 12);
    });

    test.each(causes)("moves by index: $cause", async (criteria) => {
      const connection = await db.connect("reads");
      const page = { limit: 100, afterId: uuid(0) };
      const found = await store.recoverTasks.find(connection, criteria, page);
      const decided = found.map(({ id: taskId, claimId }) =>
        recovery({ id: taskId, claimId }, { decision: "requeue", due: { delayMs: 5 } }),
      );
      const call = await prepare(
        connection,
        (one) => store.recoverTasks.apply(one, criteria, decided, "admin"),
        runs,
      );
      const plan = await explain(connection, call);
      figures(`move: ${criteria.cause}`, { rows: found.length, buffers: plan.buffers });
      expect(plan.nodes[0]?.["Actual Rows"]).toBe(found.length);
      expect(
        plan.scannedTables.filter((table) => !["active_tasks", "workers"].includes(table)),
      ).toEqual([]);
      // About thirty pages for each task; they count again for every step that reads what an earlier one has found.
      expect(plan.buffers).toBeLessThan(20_000);
    });
  });

  test("listRecoveries of a task, or of all, reads few pages", async () => {
    const connection = await db.connect("reads");
    for (const taskId of [undefined, uuid(77)]) {
      const call = await prepare(connection, (one) => store.listRecoveries(one, 100, taskId));
      const plan = await explain(connection, call);
      expect(plan.scannedTables).toEqual([]);
      expect(plan.buffers).toBeLessThan(50);
    }
  });

  describe("without a task to recover", () => {
    beforeAll(async () => {
      await db.sql(`
      update ${SCHEMA}.active_tasks set heartbeat_at = now() + interval '1 hour';
      update ${SCHEMA}.workers
         set last_heartbeat_at = now() + interval '1 hour', state = 'running', lock_missing_since = null;
      analyze ${SCHEMA}.active_tasks`);
    });

    test.each(causes.slice(0, 5))(
      "finds none by reading the active tasks only: $cause",
      async (criteria) => {
        const connection = await db.connect("reads");
        const page = { limit: 200, afterId: uuid(0) };
        const call = await prepare(
          connection,
          (one) => store.recoverTasks.find(one, criteria, page),
          7,
        );
        const plan = await explain(connection, call);
        figures(`find nothing: ${criteria.cause}`, { buffers: plan.buffers });
        expect(plan.nodes[0]?.["Actual Rows"]).toBe(0);
        // The pages of what is under way, and no more.
        expect(plan.buffers).toBeLessThan(400);
      },
    );
  });
});
