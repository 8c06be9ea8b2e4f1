/** Stuck runs are repaired in bounded rounds. Each round continues where the one before stopped; workers start them. */
import { expect, test } from "vitest";
import { recoverStuckWorkflows, workflowRounds } from "../../src/workflows/recover-workflows.ts";
import { defineTask, defineWorkflow } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger } from "../support/loggers.ts";
import { storeGraphs, startRuns } from "./drive-runs.ts";
import { digestOf, each, graph, node } from "./small-graphs.ts";
import { useRuns } from "./use-runs.ts";
import { withDatabase } from "./with-database.ts";

const db = useDatabase();
const runs = useRuns(db);
const one = graph("one", [node("a")]);

async function startMany(count: number): Promise<string[]> {
  const sql: typeof db.sql = (text, values) => db.sql(text, values);
  const stored = await storeGraphs(sql, [{ digest: digestOf(one), graph: one }]);
  const graphId = [...stored.values()][0] ?? 0;
  const ids = await startRuns(
    sql,
    Array.from({ length: count }, () => ({ graphId, input: null })),
  );
  return ids.toSorted();
}

/** Ends the tasks of these runs without advancing the runs. */
async function getStuck(ids: readonly string[]): Promise<void> {
  await db.sql(
    `with gone as (
       delete from posthaste.ready_tasks
        where task_id in (select task_id from posthaste.submissions where workflow_id = any ($1)) returning *
     )
     insert into posthaste.finished_tasks (task_id, enqueued_at, finished_at, result)
     select task_id, enqueued_at, clock_timestamp(), '1' from gone`,
    [ids],
  );
}

test("a repair round is bounded, and the next one continues where it stopped", async () => {
  const ids = await startMany(5);
  await getStuck(ids);
  await withDatabase(db, async (database) => {
    const recoverer = { database, log: recordingLogger() };
    const first = await recoverStuckWorkflows(recoverer, { limit: 2 });
    expect(first).toMatchObject({ workflowIds: ids.slice(0, 2), reached: ids[1] });
    const second = await recoverStuckWorkflows(recoverer, { limit: 2, after: ids[1] ?? "" });
    expect(second).toMatchObject({ workflowIds: ids.slice(2, 4), reached: ids[3] });
    const third = await recoverStuckWorkflows(recoverer, { limit: 2, after: ids[3] ?? "" });
    expect(third).toMatchObject({ workflowIds: ids.slice(4), reached: null });
  });
});

test("repair rounds reach the last of thousands of open runs, and then start from the first again", async () => {
  const ids = await startMany(2_100);
  const last = ids.at(-1) ?? "";
  await withDatabase(db, async (database) => {
    const round = workflowRounds(database, recordingLogger());
    await getStuck([last]);
    expect(await round()).toBe(0);
    expect(await round()).toBe(1);
    expect(await runs.status(last)).toBe("COMPLETED");
    // The next round starts from the beginning again.
    await getStuck(ids.slice(0, 1));
    expect(await round()).toBe(1);
  });
});

test("a run that cannot be repaired is logged, and keeps no other run from its repair", async () => {
  const fan = await runs.start(graph("fan", [each("items")]), [1]);
  await db.sql("delete from posthaste.ready_tasks");
  await db.sql("delete from posthaste.submissions");
  await db.sql(
    "update posthaste.workflow_nodes set status = 'READY', task_id = null where item = 0",
  );
  await db.sql("update posthaste.workflows set input = '7'");
  const [other = ""] = await startMany(1);
  await getStuck([other]);
  const logger = recordingLogger();

  const { workflowIds } = await db.app({ logger }).admin.recoverStuckWorkflows();
  expect(workflowIds).toEqual([other]);
  expect(logger.lines).toContainEqual(
    expect.objectContaining({
      level: "error",
      fields: expect.objectContaining({ workflowId: fan, found: ["ready and not sent"] }),
    }),
  );
  await db.sql("update posthaste.workflows set input = '[7]' where workflow_id = $1", [fan]);
  expect((await db.app().admin.recoverStuckWorkflows()).workflowIds).toEqual([fan]);
});

test("a worker repairs a stuck run by itself, and notifies its waiters", async () => {
  const definition = defineWorkflow({ name: "one", build: () => null });
  const id = await runs.start(one);
  const logger = recordingLogger();
  const app = db.app({
    tasks: [defineTask({ name: "idle", run: () => null })],
    logger,
    recovery: { checkIntervalMs: 1_000 },
    resilience: { notifyPollIntervalMs: 300_000 },
  });
  const result = app.workflow(definition, id).result({ timeoutMs: 30_000 });
  await expect.poll(async () => (await db.sql("select from posthaste.waiters")).length).toBe(1);
  await getStuck([id]);
  await app.worker({ queues: ["elsewhere"] }).start();

  expect(await result).toEqual({ ok: true, value: 1 });
  await expect
    .poll(() => logger.lines)
    .toContainEqual({
      level: "warn",
      fields: expect.objectContaining({ workflowId: id, found: ["task ended"] }),
      message: "workflow run was stuck; repaired it",
    });
});
