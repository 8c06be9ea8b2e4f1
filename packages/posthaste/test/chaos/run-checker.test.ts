/** The laws of runs: a history without a fault breaks none, and every law finds the fault that is planted for it. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkLaws } from "../../../../chaos/checker/check-laws.ts";
import { runLaws } from "../../../../chaos/checker/run-laws.ts";
import { isWrong, repairedRuns } from "../../../../chaos/checker/run-results.ts";
import { installJournal } from "../../../../chaos/journal.ts";
import { findDeadlocks } from "../../../../chaos/server-log.ts";
import { defineTask, defineWorkflow, fail } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { lawsBrokenBy } from "./planted.ts";

const db = useDatabase();
let client: pg.Client;
let isMended = false;

const effects: unknown[][] = [];

const work = defineTask({
  name: "work",
  errors: ["PLANNED"],
  run: (input: { readonly mayFail: boolean }, ctx) => {
    const { taskId, claimId, workerId, attempt, name } = ctx;
    effects.push([taskId, claimId, workerId, attempt, name]);
    const said = { claim: claimId, items: [1, 2] };
    return input.mayFail && !isMended ? fail("PLANNED", "as planned", said) : said;
  },
});

const fan = defineWorkflow({
  name: "fanning",
  build: (flow) => {
    const list = flow.node("list", work, { mayFail: false });
    const items = flow.each("items", work, list.output.items, () => ({ mayFail: true }));
    const sum = flow.node("sum", work, { mayFail: false }, { after: [items] });
    return sum.output.items;
  },
});
const plain = defineWorkflow({
  name: "plain",
  build: (flow) => {
    const a = flow.node("a", work, { mayFail: false });
    return flow.node("b", work, { mayFail: false }, { after: [a] }).output.items;
  },
});

/** Everything that the laws look at has happened at least once. */
beforeAll(async () => {
  client = new pg.Client(db.url);
  await client.connect();
  await installJournal(client);
  const app = db.app({ tasks: [work] });
  const paused = await app.start(plain);
  const cancelled = await app.start(plain);
  const failed = await app.start(fan);
  await paused.pause();
  const answer = await cancelled.cancel();
  await client.query("insert into chaos.cancelled_runs values ($1, $2)", [cancelled.id, answer]);
  const worker = await app.worker().start();
  await failed.result({ timeoutMs: 30_000 });
  isMended = true;
  await client.query("insert into chaos.asked_retries values ($1)", [failed.id]);
  await failed.retryFrom("items");
  await paused.resume();
  for (const run of [paused, cancelled, failed]) {
    const result = await run.result({ timeoutMs: 30_000 });
    await client.query("insert into chaos.started_runs values ($1)", [run.id]);
    await client.query("insert into chaos.awaited_runs values ($1, $2)", [run.id, result]);
  }
  await worker.stop();
  for (const each of effects) {
    await client.query("insert into chaos.effects values ($1, $2, $3, $4, $5)", each);
  }
});

afterAll(() => client.end());

test("a history without a fault breaks no law", async () => {
  expect(await checkLaws(client)).toEqual([]);
  const [counted] = await db.sql(
    `select (select count(*)::int from chaos.taken_back) as taken, (select count(*)::int from chaos.halts) as halts,
            (select count(*)::int from posthaste.earlier_nodes) as earlier,
            (select string_agg(status, ' ' order by status) from posthaste.workflow_states) as ends`,
  );
  // A pause; the request of a cancellation, and its end. The fan-out was started over with its items and what follows.
  expect(counted).toEqual({
    taken: 1,
    halts: 3,
    earlier: 4,
    ends: "CANCELLED COMPLETED COMPLETED",
  });
});

const stranger = `'${randomUUID()}'`;
const completed = `(select workflow_id from posthaste.workflows join posthaste.workflow_states using (workflow_id)
  where name = 'fanning' and status = 'COMPLETED')`;
const started = `(select xid from chaos.run_journal where workflow_id = ${completed} order by seq limit 1)`;
const halted = (isCancelling: boolean): string =>
  `insert into chaos.run_journal (workflow_id, xid, status_before, status, is_cancelling)
   values (${completed}, ${started}, 'RUNNING', 'PAUSED', ${isCancelling})`;

/** By law, a fault that nothing but this law has to find. Some break others as well. */
const planted: Readonly<Record<string, string>> = {
  "every acknowledged start is a run": `insert into chaos.started_runs values (${stranger})`,
  "only edges of a run's life occur": `insert into chaos.run_journal (workflow_id, status_before, status)
     values (${completed}, 'COMPLETED', 'FAILED')`,
  "the end of a node changes only when it is started over": `insert into chaos.node_journal
     (workflow_id, node_no, item, status_before, status, retries_before, retries)
     values (${completed}, 0, -1, 'COMPLETED', 'FAILED', 0, 0)`,
  "nodes are started over only where that was asked for": "delete from chaos.asked_retries",
  "a node that was COMPLETED is started over only behind one that FAILED": `insert into posthaste.earlier_nodes
     (workflow_id, node_no, item, retries, status) values (${completed}, 0, -1, 0, 'COMPLETED')`,
  "what follows is sent in the commit that ended what it needs, or that let its run go on": `update chaos.node_journal
     set xid = '1' where status = 'ENQUEUED' and item >= 0`,
  "only what has not begun is taken back": `insert into chaos.taken_back (task_id, workflow_id)
     select task_id, workflow_id from posthaste.submissions where workflow_id = ${completed}`,
  "tasks are taken back only when their run is paused": "update chaos.taken_back set xid = '1'",
  "nothing of a run is sent while it is paused or cancelled": halted(false),
  "nothing of a run begins while it is paused": halted(false),
  "nothing of a run begins after it was cancelled": halted(true),
  "a run whose cancel was answered cancelled or requested ends CANCELLED": `insert into chaos.cancelled_runs
     values (${completed}, 'requested')`,
  "what is nested in a run is cancelled with it": `update posthaste.workflows
     set parent_id = (select workflow_id from posthaste.workflow_states where status = 'CANCELLED')
     where workflow_id = ${completed}`,
  "whoever waited for a run read what is stored": `update chaos.awaited_runs set result = '{"ok": true, "value": 1}'`,
  "every run has ended": `update posthaste.workflow_states set status = 'RUNNING', ended_at = null
     where workflow_id = ${completed}`,
};

test.each(runLaws.map(({ says }) => says))("finds what breaks: %s", async (says) => {
  const plant = planted[says];
  if (plant === undefined) throw new Error(`no fault is planted for: ${says}`);
  expect(await lawsBrokenBy(client, plant)).toContain(says);
});

test("results are compared with what inputs make", () => {
  const input = { id: "1", ms: 0, items: [0], isExpress: true, failing: [], flaky: [] };
  const run = { name: "fan", input, result: "sum(item0(list()))" };
  expect(isWrong(run)).toBe(false);
  expect(isWrong({ ...run, result: "sum()" })).toBe(true);
  expect(isWrong({ ...run, name: "unknown" })).toBe(true);
});

test("repairs and deadlocks are found where they are told", () => {
  const line = { message: "workflow run was stuck; repaired it", workflowId: "1", found: ["x"] };
  expect(repairedRuns([{ message: "worker started" }, line])).toHaveLength(1);
  const folder = mkdtempSync(join(tmpdir(), "posthaste-log-"));
  const serverLog = join(folder, "postgres.log");
  writeFileSync(serverLog, "LOG: ready\nERROR:  deadlock detected\nDETAIL:  Process 1 waits\n");
  expect(findDeadlocks({ serverLog })).toHaveLength(1);
  rmSync(folder, { recursive: true });
});
