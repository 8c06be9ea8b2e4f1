/** The checker itself: a history without a fault breaks no law, and every law finds the fault that is planted for it. */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkLaws, taskLaws } from "../../../../chaos/checker/check-laws.ts";
import { installJournal } from "../../../../chaos/journal.ts";
import { defineTask, fixed, TaskError, type TaskContext } from "../../src/index.ts";
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

const child = defineTask({
  name: "child",
  run: (_input: { parent: string; claim: string }, ctx) => effect(ctx),
});
const once = defineTask({ name: "once", run: (_: undefined, ctx) => effect(ctx) });
const flaky = defineTask({
  name: "flaky",
  retry: fixed({ intervalsMs: [1, 1], retryFor: ["UNHANDLED_ERROR", "PLANNED"], jitter: false }),
  errors: ["PLANNED"],
  run: async (_: undefined, ctx) => {
    const said = effect(ctx);
    ctx.progress(said);
    if (ctx.attempt < 3) throw new TaskError("PLANNED", "not yet", said);
    await ctx.send(child, { parent: ctx.taskId, claim: ctx.claimId });
    return said;
  },
});
const pay = defineTask({
  name: "pay",
  queue: "capped",
  run: (_: undefined, ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query("insert into chaos.paid values ($1, $2)", [ctx.taskId, ctx.claimId]);
      return effect(ctx);
    }),
});

/** Everything that the laws look at has happened at least once. */
beforeAll(async () => {
  client = new pg.Client(db.url);
  await client.connect();
  await installJournal(client);
  await client.query("insert into chaos.caps values ('capped', 1)");
  const app = db.app({
    tasks: [child, once, flaky, pay],
    queues: { default: {}, capped: { maxConcurrency: 1 } },
    prefetchBuffer: 1,
    recovery: { runnerHeartbeatIntervalMs: 1_000 },
  });
  const worker = await app.worker({ concurrency: 3 }).start();
  const handles = [
    ...(await app.sendMany(once, [undefined, undefined])),
    ...(await app.sendMany(flaky, [undefined, undefined])),
    ...(await app.sendMany(pay, [undefined, undefined, undefined])),
    await app.send(once, undefined, { delayMs: 100, goodUntil: new Date(Date.now() + 60_000) }),
  ];
  const doomed = await app.send(once, undefined, { delayMs: 60_000 });
  const answer = await doomed.cancel();
  await client.query("insert into chaos.cancels values ($1, $2)", [doomed.id, answer]);
  for (const handle of handles) {
    const result = await handle.result({ timeoutMs: 30_000 });
    await client.query("insert into chaos.acknowledged values ($1)", [handle.id]);
    await client.query("insert into chaos.waits values ($1, $2)", [handle.id, result]);
  }
  const underWay = "select from posthaste.ready_tasks union all select from posthaste.active_tasks";
  await waitUntil("every task to end", async () => (await db.sql(underWay)).length === 0);
  await worker.stop();
  for (const each of effects) {
    await client.query("insert into chaos.effects values ($1, $2, $3, $4, $5)", each);
  }
  await client.query(
    `insert into posthaste.heartbeats (task_id, claim_id, sender_id, sent_at, pid, role, hostname)
     select task_id, claim_id, worker_id, started_at, 1, 'runner', 'here' from posthaste.finished_tasks
      where claim_id is not null`,
  );
});

afterAll(() => client.end());

test("a history without a fault breaks no law", async () => {
  expect(await checkLaws(client)).toEqual([]);
  const [counted] = await db.sql<{ edges: number; claims: number }>(
    "select (select count(*)::int from chaos.edges) as edges, (select count(*)::int from chaos.claims) as claims",
  );
  expect(counted?.edges).toBeGreaterThan(30);
  expect(counted?.claims).toBeGreaterThanOrEqual(13);
});

const one = (name: string): string =>
  `(select task_id from posthaste.submissions as sent join posthaste.finished_tasks using (task_id)
     where sent.name = '${name}' and status is null order by task_id limit 1)`;
const stranger = `'${randomUUID()}'`;
const silently = "set local session_replication_role = replica;"; // as if no trigger were there

/** By law, a fault that nothing but this law has to find. Some break others as well. */
const planted: Readonly<Record<string, string>> = {
  "every acknowledged send is in exactly one state table": `${silently} delete from posthaste.finished_tasks where task_id = ${one("once")}`,
  "every acknowledged send has its submission": `insert into chaos.acknowledged values (${stranger})`,
  "a terminal state changes only by an operator's retry, and COMPLETED never": `update posthaste.finished_tasks set result = '1' where task_id = ${one("once")}`,
  "only edges of the lifecycle occur": `update chaos.journal set status = 'EXPIRED' where op = 'in' and status = 'COMPLETED' and task_id = ${one("once")}`,
  "what the journal says last is what is stored": `delete from chaos.journal where op = 'in' and status = 'COMPLETED' and task_id = ${one("once")}`,
  "a cancel that was answered cancelled or requested ends CANCELLED": `insert into chaos.cancels values (${one("once")}, 'requested')`,
  "whoever waited read what is stored": `update chaos.waits set result = '{"ok": true, "value": 1}' where task_id = ${one("once")}`,
  "nothing due is left waiting": `insert into posthaste.ready_tasks select task_id, sent_at - interval '1 hour', null, 1, null, null, priority, queue
     from posthaste.submissions where task_id = ${one("once")}`,
  "nothing is owned by a dead worker": `insert into posthaste.active_tasks (task_id, claim_id, worker_id, enqueued_at, started_at, attempt_no)
     select task_id, ${stranger}, worker_id, sent_at, sent_at, 1
       from posthaste.submissions join posthaste.finished_tasks using (task_id) where task_id = ${one("once")}`,
  "a result was written by the claim it names": `update chaos.journal set claim_id = ${stranger} where op = 'in' and status = 'COMPLETED' and task_id = ${one("once")}`,
  "a value or an error comes from the handler of the claim that it is stored under": `${silently} update posthaste.finished_tasks set result = '{"claim": "another"}' where task_id = ${one("once")}`,
  "an attempt that is kept was run by the claim it names": `update posthaste.attempts set claim_id = ${stranger} where attempt_no = 2`,
  "a claim is made once": `update chaos.journal set claim_id = (select claim_id from posthaste.attempts where task_id = ${one("flaky")} and attempt_no = 1)
     where task_id = ${one("flaky")} and claim_id = (select claim_id from posthaste.attempts where task_id = ${one("flaky")} and attempt_no = 2)`,
  "a child was sent while its parent held the claim that sent it": `update posthaste.submissions
     set input = input::jsonb || jsonb_build_object('claim', (select claim_id from posthaste.attempts where task_id = (input ->> 'parent')::uuid and attempt_no = 1))
     where name = 'child'`,
  "progress was told by the claim whose attempt it is stored for": `update posthaste.progress
     set value = jsonb_build_object('claim', (select claim_id from posthaste.attempts a where a.task_id = progress.task_id and a.attempt_no = 1))`,
  "a heartbeat came from the worker that had made the claim": `update posthaste.heartbeats set sender_id = ${stranger} where task_id = ${one("once")}`,
  "every COMPLETED task has an effect of the claim that completed it": `delete from chaos.effects where task_id = ${one("once")}`,
  "no effect happened under a claim that the database never issued": `insert into chaos.effects select task_id, ${stranger}, worker_id, 2, 'flaky' from chaos.effects where task_id = ${one("pay")}`,
  "a claim runs its handler once": `insert into chaos.effects select * from chaos.effects where task_id = ${one("once")}`,
  "a task that must not be repeated after a crash has one effect at most": `update chaos.effects set name = 'once' where task_id = ${one("flaky")}`,
  "what is written in the transaction of a completion is written exactly once": `insert into chaos.paid select * from chaos.paid where task_id = ${one("pay")}`,
  "attempts are numbered 1 to n without gaps": `update chaos.journal set attempt_no = attempt_no + 1 where task_id = ${one("once")} and status = 'RUNNING'`,
  "every handler that began is kept as one attempt": `delete from posthaste.attempts where attempt_no = 1 and task_id = ${one("flaky")}`,
  "two runs of a task never overlap": `update chaos.journal set op = 'change' where op = 'out' and status = 'RUNNING' and task_id = ${one("flaky")} and attempt_no = 1`,
  "nothing starts after its deadline": `update posthaste.submissions set good_until = sent_at where task_id = ${one("once")}`,
  "nothing starts after it was cancelled": `update chaos.journal set cancel_requested_at = at where op = 'in' and status = 'PENDING' and task_id = ${one("once")}`,
  "nothing is claimed before its time": `update chaos.journal set enqueued_at = at + interval '1 hour' where op = 'out' and status = 'PENDING' and task_id = ${one("once")}`,
  "no cap is exceeded": "update chaos.caps set cap = 0",
};

test.each(taskLaws.map(({ says }) => says))("finds what breaks: %s", async (says) => {
  const plant = planted[says];
  if (plant === undefined) throw new Error(`no fault is planted for: ${says}`);
  expect(await lawsBrokenBy(client, plant)).toContain(says);
});
