/** Retention of runs: prune() deletes runs that ended long ago, whole, and nothing else. */
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { endTasks, linedTasks } from "./drive-runs.ts";
import { each, graph, nested, node } from "./small-graphs.ts";
import { useRuns } from "./use-runs.ts";

const db = useDatabase();
const runs = useRuns(db);
const one = graph("one", [node("a")]);
const inner = graph("inner", [node("core")]);
const outer = graph("outer", [node("a"), each("items", "a"), nested("deep", inner, "a")]);

/** Moves the end of a run into the past. */
async function age(id: string, ago = "31 days"): Promise<void> {
  await db.sql(
    "update posthaste.workflow_states set ended_at = ended_at - $2::interval where workflow_id = $1",
    [id, ago],
  );
}

async function endedRun(): Promise<string> {
  const id = await runs.start(one);
  await runs.complete("a");
  return id;
}

/** A run with a history: a nested run, items, a node that was started over, attempts and progress. */
async function endedTree(): Promise<string> {
  const id = await runs.start([inner, outer]);
  await runs.complete("a", [1, 2]);
  await runs.fail("items[0]");
  await runs.complete("items[1]");
  await runs.complete("core");
  await db.sql("select posthaste.retry_workflow($1, '{items}')", [id]);
  const task = await runs.complete("items[0]");
  await db.sql(
    `insert into posthaste.attempts (task_id, attempt_no, claim_id, worker_id, claimed_at, started_at, finished_at, outcome)
     values ($1, 1, gen_random_uuid(), gen_random_uuid(), now() + '1s', now() + '1s', now() + '2s', 'FAILED')`,
    [task],
  );
  await db.sql("update posthaste.finished_tasks set attempt_no = 1 where task_id = $1", [task]);
  await db.sql("insert into posthaste.progress values ($1, 1, now(), '1')", [task]);
  return id;
}

const tables = [
  "submissions",
  "finished_tasks",
  "attempts",
  "progress",
  "workflows",
  "workflow_states",
  "workflow_nodes",
  "earlier_nodes",
];

async function rows(): Promise<Readonly<Record<string, number>>> {
  const counts = tables.map(
    (table) => `(select count(*)::int from posthaste.${table}) as ${table}`,
  );
  const [row] = await db.sql<Record<string, number>>(`select ${counts.join(", ")}`);
  return row ?? {};
}

async function standing(): Promise<string[]> {
  const found = await db.sql<{ id: string }>(
    "select workflow_id as id from posthaste.workflows where parent_id is null",
  );
  return found.map(({ id }) => id);
}

test("prune() deletes a run that ended long ago with all its rows", async () => {
  const id = await endedTree();
  expect(Object.values(await rows()).filter((count) => count === 0)).toEqual([]);
  await age(id);
  const { admin } = db.app();

  expect(await admin.prune({ dryRun: true })).toMatchObject({ terminalRecords: 1 });
  expect(await admin.prune()).toMatchObject({ terminalRecords: 1 });
  expect(await rows()).toEqual(Object.fromEntries(tables.map((table) => [table, 0])));
  await expect(admin.workflows.get(id)).rejects.toMatchObject({ code: "WORKFLOW_NOT_FOUND" });
});

test("prune() keeps runs that ended lately, and runs that have not ended", async () => {
  const young = await endedRun();
  await age(young, "29 days");
  const open = await runs.start(one);
  const paused = await runs.start(one);
  await db.sql("select posthaste.pause_workflow($1)", [paused]);
  const before = await rows();

  expect(await db.app().admin.prune()).toMatchObject({ terminalRecords: 0 });
  expect(await rows()).toEqual(before);
  expect((await standing()).toSorted()).toEqual([young, open, paused].toSorted());
});

test("prune() keeps a nested run and its tasks for as long as the run around it", async () => {
  await runs.start([inner, outer]);
  await runs.complete("a", []);
  await runs.complete("core");
  const [nestedRun] = await db.sql<{ id: string }>(
    "select workflow_id as id from posthaste.workflows where parent_id is not null",
  );
  await age(nestedRun?.id ?? "");
  await db.sql(
    "update posthaste.finished_tasks set finished_at = finished_at - interval '31 days', enqueued_at = enqueued_at - interval '31 days'",
  );
  const before = await rows();

  expect(await db.app().admin.prune()).toMatchObject({ terminalRecords: 0 });
  expect(await rows()).toEqual(before);
});

test("prune() frees the key of a deleted run", async () => {
  const id = await endedRun();
  await db.sql("update posthaste.workflows set key = 'k' where workflow_id = $1", [id]);
  await age(id);
  await db.app().admin.prune();
  const next = await runs.start(one);

  await db.sql("update posthaste.workflows set key = 'k' where workflow_id = $1", [next]);
});

test("a batch of prune_workflows() deletes the oldest trees, and ends behind the tree that reaches its limit", async () => {
  const large = await runs.start(graph("fan", [each("items")]), [1, 2, 3]);
  for (const item of [0, 1, 2]) await runs.complete(`items[${item}]`);
  await age(large, "40 days");
  const small = [await endedRun(), await endedRun()];
  await age(small[0] ?? "", "35 days");
  await age(small[1] ?? "", "32 days");
  const batch = async (most: number, since = "-infinity") =>
    (
      await db.sql<{ pruned: number; reached: string | null }>(
        "select pruned, reached::text from posthaste.prune_workflows(720, $1, $2::timestamptz)",
        [most, since],
      )
    )[0];

  const first = await batch(2);
  expect(first).toMatchObject({ pruned: 1, reached: expect.any(String) });
  expect((await standing()).toSorted()).toEqual(small.toSorted());
  expect(await batch(2, first?.reached ?? "")).toMatchObject({
    pruned: 2,
    reached: expect.any(String),
  });
  expect(await batch(2)).toEqual({ pruned: 0, reached: null });
});

test("prune() leaves a run that another session holds to the next call", async () => {
  const [held, free] = [await endedRun(), await endedRun()];
  await age(held);
  await age(free);
  await db.sql("begin");
  await db.sql("select from posthaste.workflow_states where workflow_id = $1 for no key update", [
    held,
  ]);
  const { admin } = db.app();
  try {
    expect(await admin.prune()).toMatchObject({ terminalRecords: 1 });
  } finally {
    await db.sql("commit");
  }
  expect(await standing()).toEqual([held]);
  expect(await admin.prune()).toMatchObject({ terminalRecords: 1 });
});

test("prune() deletes 1,201 runs in batches, in one call", async () => {
  const id = await runs.start(one);
  await db.sql(
    `select posthaste.start_workflows(array_agg(gen_random_uuid()), array_agg(graph_id), array_agg('null'::jsonb),
                                      array_agg(null::text))
       from posthaste.workflows cross join generate_series(1, 1200) where workflow_id = $1`,
    [id],
  );
  const ends = (await linedTasks((text) => db.sql(text))).map((task) => ({
    id: task.id,
    status: "COMPLETED" as const,
  }));
  await endTasks((text, values) => db.sql(text, values), ends);
  await db.sql("update posthaste.workflow_states set ended_at = ended_at - interval '31 days'");
  const { admin } = db.app();

  expect(await admin.prune({ dryRun: true })).toMatchObject({ terminalRecords: 1_201 });
  expect(await admin.prune()).toMatchObject({ terminalRecords: 1_201 });
  expect(Object.values(await rows()).every((count) => count === 0)).toBe(true);
});
