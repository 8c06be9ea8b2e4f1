/** The laws of schedules and operators: a history without a fault breaks none, and every law finds the fault that is planted for it. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkLaws } from "../../../../chaos/checker/check-laws.ts";
import { operateLaws } from "../../../../chaos/checker/operate-laws.ts";
import { scheduleLaws } from "../../../../chaos/checker/schedule-laws.ts";
import { installJournal } from "../../../../chaos/journal.ts";
import {
  defineSchedule,
  defineTask,
  defineWorkflow,
  fail,
  type TaskContext,
} from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait-until.ts";
import { lawsBrokenBy } from "./planted.ts";

const db = useDatabase();
let client: pg.Client;

const effects: unknown[][] = [];

function effect({ taskId, claimId, workerId, attempt, name }: TaskContext): { claim: string } {
  effects.push([taskId, claimId, workerId, attempt, name]);
  return { claim: claimId };
}

const tick = defineTask({
  name: "tick",
  run: async ({ ms }: { readonly ms: number }, ctx) => {
    const said = effect(ctx);
    await sleep(ms, undefined, { signal: ctx.signal });
    return said;
  },
});
const failing = defineTask({
  name: "failing",
  errors: ["PLANNED"],
  run: (_: undefined, ctx) => fail("PLANNED", "as planned", effect(ctx)),
});
const once = defineTask({ name: "once", run: (_: undefined, ctx) => effect(ctx) });
const single = defineWorkflow({
  name: "single",
  build: (flow) => flow.node("a", once).output,
});

const every = { seconds: 1 };
const schedules = [
  defineSchedule({ name: "allowing", task: tick, input: { ms: 0 }, every }),
  defineSchedule({ name: "running", workflow: single, every }),
  ...(["skip", "buffer"] as const).map((overlap) =>
    defineSchedule({
      name: `with-${overlap}`,
      task: tick,
      input: { ms: 2_500 },
      every,
      overlap,
    }),
  ),
];

/** Everything that the laws look at has happened at least once. */
beforeAll(async () => {
  client = new pg.Client(db.url);
  await client.connect();
  await installJournal(client);
  const app = db.app({ tasks: [tick, failing, once], workflows: [single], schedules });
  const { admin } = app;
  const waiting = await app.send(once, undefined, { delayMs: 600_000 });
  expect(await admin.tasks.setPriority(waiting.id, 7)).toBe("moved");
  const doomed = await app.send(failing, undefined, { delayMs: 600_000 });
  await admin.tasks.cancel({ name: "failing" });
  expect(await admin.tasks.retry(doomed.id)).toBe("retried");
  const worker = await app.worker({ concurrency: 8 }).start();
  await doomed.result({ timeoutMs: 30_000 });
  expect(await admin.tasks.retry({ name: "failing" })).toMatchObject({ changed: 1 });
  await doomed.result({ timeoutMs: 30_000 });
  const copy = await admin.tasks.sendAgain(doomed.id);
  await app.task(failing, copy).result({ timeoutMs: 30_000 });
  expect(await admin.tasks.delete(copy)).toBe("deleted");
  await admin.tasks.sendAgain(doomed.id);
  expect(await admin.tasks.runNow(waiting.id)).toBe("moved");
  await admin.schedules.trigger("allowing");
  await waitUntil("slots that are skipped, and slots that waited", async () => {
    const [seen] = await db.sql<{ skipped: number; waited: number }>(
      `select (select count(*)::int from chaos.firing_journal where skipped = 'overlap') as skipped,
              (select count(*)::int from chaos.firing_journal f join chaos.schedule_journal m using (schedule, xid)
                where f.slot = m.buffered_before) as waited`,
    );
    return seen !== undefined && seen.skipped > 0 && seen.waited > 0;
  });
  for (const { name } of schedules) await admin.schedules.pause(name);
  const underWay = "select from posthaste.ready_tasks union all select from posthaste.active_tasks";
  await waitUntil("every task to end", async () => (await db.sql(underWay)).length === 0);
  await worker.stop();
  for (const each of effects) {
    await client.query("insert into chaos.effects values ($1, $2, $3, $4, $5)", each);
  }
});

afterAll(() => client.end());

test("a history without a fault breaks no law", async () => {
  expect(await checkLaws(client)).toEqual([]);
});

const stranger = `'${randomUUID()}'`;
const silently = "set local session_replication_role = replica;"; // as if no trigger were there
const last = (which: string): string =>
  `(select max(seq) from chaos.firing_journal where not triggered and ${which})`;
const lastMove = `(select max(seq) from chaos.schedule_journal where is_same_pattern and not was_paused and next_slot > next_before)`;
const retried = "(select min(task_id::text)::uuid from chaos.retry_journal)";

/** By law, a fault that nothing but this law has to find. Some break others as well. */
const planted: Readonly<Record<string, string>> = {
  "a slot fires or is skipped once": `insert into chaos.firing_journal (schedule, slot, fired_at, task_id, triggered)
     select schedule, slot, fired_at, ${stranger}, false from chaos.firing_journal where seq = ${last("task_id is not null")}`,
  "a firing sends one task or starts one run, in its own transaction": `update chaos.firing_journal set xid = '1' where seq = ${last("run_id is not null")}`,
  "a task or run of a schedule has one firing": `delete from chaos.firing_journal where seq = ${last("task_id is not null")}`,
  "no slot is missing: it fires, waits for an end, or is skipped with a reason": `delete from chaos.firing_journal
     where seq = (select min(seq) from chaos.firing_journal where not triggered and schedule = 'allowing')`,
  "the next slot of a pattern never goes back": `update chaos.schedule_journal set next_slot = next_before - interval '1 second' where seq = ${lastMove}`,
  "no slot fires before its time, or while its schedule is paused": `update chaos.firing_journal set fired_at = slot - interval '1 millisecond' where seq = ${last("task_id is not null")}`,
  "a slot is skipped as missed only where its policy says so": `update chaos.firing_journal
     set skipped = 'missed', task_id = null, fired_at = slot + interval '10 milliseconds' where seq = ${last("schedule = 'allowing'")}`,
  "a slot is skipped for an overlap only while the last task or run has not ended": `update chaos.firing_journal
     set skipped = 'overlap', task_id = null where seq = ${last("schedule = 'allowing'")}`,
  "where overlaps are not allowed, a slot fires only after the last task or run has ended": `update chaos.firing_journal
     set skipped = null, task_id = ${stranger} where seq = ${last("skipped = 'overlap'")}`,
  "a slot that waits for an end fires, unless its schedule is resumed or changed": `delete from chaos.firing_journal
     where (schedule, slot, xid) in (select schedule, buffered_before, xid from chaos.schedule_journal)`,
  "no firing fails: nothing is wrong with any of these schedules": `update chaos.schedule_journal set failures = 1 where seq = ${lastMove}`,
  "a retry takes one end back, and the task waits again with the number of its attempts": `update chaos.retry_journal set attempt_no = 7`,
  "every retry is kept as long as its task": `delete from posthaste.task_retries where task_id = ${retried}`,
  "a task is deleted only by an operator, while it waits or has ended": `insert into chaos.deleted (task_id) values (${stranger})`,
  "nothing stays of a task that was deleted": `insert into posthaste.attempts
       (task_id, attempt_no, worker_id, claimed_at, started_at, finished_at, outcome, error_code)
     select task_id, 1, ${stranger}, now(), now(), now(), 'FAILED', 'PLANNED' from chaos.deleted`,
  "an action counts the tasks that it retried": `insert into chaos.retry_journal (task_id, status, attempt_no) values (${stranger}, 'FAILED', 1)`,
  "an action counts the tasks that it deleted": "delete from chaos.deleted",
  "an action counts the copies that it sent": `${silently} update posthaste.submissions set copy_of = null where copy_of is not null`,
  "an action counts the tasks that it moved in their queue":
    "update chaos.action_journal set more = 2 where action = 'set priority'",
  "an action counts the tasks that it cancelled":
    "update chaos.action_journal set more = 0 where action = 'cancel tasks'",
  "roll-ups count no more than has ended, and all that was cancelled before it ran":
    "delete from posthaste.rollups where cancelled > 0",
};

test.each([...operateLaws, ...scheduleLaws].map(({ says }) => says))(
  "finds what breaks: %s",
  async (says) => {
    const plant = planted[says];
    if (plant === undefined) throw new Error(`no fault is planted for: ${says}`);
    expect(await lawsBrokenBy(client, plant)).toContain(says);
  },
);
