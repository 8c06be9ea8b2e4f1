/**
 * Every move of every task, written down by triggers in the transaction that makes it. For tests only: what is told here
 * is told by the database itself, whatever our code believes.
 *
 * A move is two lines, a row that leaves a table and one that enters another; `chaos.edges` puts them together again.
 */
import type pg from "pg";
import { taskLifecycle } from "../packages/posthaste/src/domain/task-lifecycle.ts";
import { FIRED_ENDS, OPERATE_JOURNAL } from "./operate-journal.ts";
import { HALTS, RUN_BOOKS, RUN_JOURNAL } from "./run-journal.ts";

/** What the server must be started with: the end of a claim counts from its commit. */
export const journalServerSettings = { track_commit_timestamp: "on" } as const;

/** The tables of Posthaste must be there. */
export async function installJournal(client: pg.Client): Promise<void> {
  for (const part of [JOURNAL, RUN_JOURNAL, OPERATE_JOURNAL, BOOKS, RUN_BOOKS])
    await client.query(part);
}

/** Puts the lines together to edges, for the laws to look at. Again at every call. */
export async function closeJournal(client: pg.Client): Promise<void> {
  await client.query(EDGES);
  await client.query(HALTS);
  await client.query(FIRED_ENDS);
}

const WRITTEN = ["ready_tasks", "active_tasks", "finished_tasks"] as const;

/** Heartbeats change nothing that a law asks for, and are most of the updates. */
const TELLING_CHANGE = `
  when (row(old.task_id, old.claim_id, old.worker_id, old.started_at, old.attempt_no, old.cancel_requested_at)
        is distinct from
        row(new.task_id, new.claim_id, new.worker_id, new.started_at, new.attempt_no, new.cancel_requested_at))`;

const JOURNAL = `
  create schema chaos;
  create table chaos.journal (
    seq                 bigint generated always as identity (cache 1) primary key,
    at                  timestamptz not null default clock_timestamp(),
    xid                 xid8 not null default pg_current_xact_id(),
    statement_at        timestamptz not null default statement_timestamp(),
    task_id             uuid not null,
    op                  text not null,
    status              text not null,
    claim_id            uuid,
    worker_id           uuid,
    attempt_no              integer not null,
    queue               text,
    enqueued_at         timestamptz,
    claimed_at          timestamptz,
    started_at          timestamptz,
    good_until          timestamptz,
    cancel_requested_at timestamptz,
    said_by             text not null default current_setting('application_name')
  );
  create index on chaos.journal (task_id, seq);

  create function chaos.write_down() returns trigger language plpgsql as $$
  declare
    told jsonb;
    sent record;
  begin
    if tg_op = 'DELETE' then told := to_jsonb(old); else told := to_jsonb(new); end if;
    -- What a moving row leaves to its submission.
    select queue, coalesce(run_at, sent_at) as due_at into sent
      from posthaste.submissions where task_id = (told ->> 'task_id')::uuid;
    insert into chaos.journal
      (task_id, op, status, claim_id, worker_id, attempt_no, queue, enqueued_at, claimed_at, started_at, good_until,
       cancel_requested_at)
    values (
      (told ->> 'task_id')::uuid,
      case tg_op when 'INSERT' then 'in' when 'DELETE' then 'out' else 'change' end,
      case tg_table_name
        when 'ready_tasks' then 'PENDING'
        when 'active_tasks' then case when told ->> 'started_at' is null then 'CLAIMED' else 'RUNNING' end
        else coalesce(told ->> 'status', 'COMPLETED') end,
      (told ->> 'claim_id')::uuid, (told ->> 'worker_id')::uuid,
      coalesce((told ->> 'attempt_no')::int, (told ->> 'started_at' is not null)::int),
      sent.queue, coalesce((told ->> 'enqueued_at')::timestamptz, sent.due_at), (told ->> 'claimed_at')::timestamptz,
      (told ->> 'started_at')::timestamptz, (told ->> 'good_until')::timestamptz,
      (told ->> 'cancel_requested_at')::timestamptz);
    return null;
  end $$;
  ${WRITTEN.map(
    (table) => `
  create trigger write_down_moves after insert or delete on posthaste.${table}
    for each row execute function chaos.write_down();`,
  ).join("")}
  create trigger write_down_changes after update on posthaste.active_tasks
    for each row ${TELLING_CHANGE} execute function chaos.write_down();
  -- Neither of these is ever updated.
  create trigger write_down_changes after update on posthaste.ready_tasks
    for each row execute function chaos.write_down();
  create trigger write_down_changes after update on posthaste.finished_tasks
    for each row execute function chaos.write_down();`;

/** What others than the database saw; filled from their files when the dust has settled, except \`paid\`. */
const BOOKS = `
  create table chaos.acknowledged (task_id uuid not null);
  create table chaos.effects (
    task_id uuid not null, claim_id uuid not null, worker_id uuid not null, attempt_no integer not null, name text not null);
  create table chaos.waits (task_id uuid not null, result jsonb not null);
  create table chaos.cancels (task_id uuid not null, answer text not null);
  create table chaos.caps (queue text primary key, cap integer not null);
  -- Written by bodies in the transaction that completes them.
  create table chaos.paid (task_id uuid not null, claim_id uuid not null);`;

const ALLOWED = Object.values(taskLifecycle)
  .flatMap(({ from, to }) => from.map((each) => `('${each}', '${to}')`))
  .join(", ");

const EDGES = `
  drop table if exists chaos.edges;
  create table chaos.edges as
  with statements as (
    select *, min(seq) over (partition by task_id, xid, statement_at) as statement_seq from chaos.journal
  ), told as (
    select j.*, row_number() over line as place, lag(op) over line as op_before, lag(status) over line as status_before, lag(xid) over line as xid_before,
           lag(claim_id) over line as claim_before, lag(attempt_no) over line as run_before,
           lag(enqueued_at) over line as due_before,
           lag(worker_id) over line as worker_before, lead(op) over line as op_after, lead(xid) over line as xid_after
      from statements j
      -- A statement may write the row that enters before it deletes the one that leaves: both happen at once.
    window line as (partition by task_id order by statement_seq, op = 'in', seq)
  )
  select place, seq, at, xid, task_id, claim_id, worker_id, attempt_no, queue, claimed_at, started_at, good_until,
         cancel_requested_at, claim_before, run_before, due_before, worker_before, said_by, op_before is null as is_first,
         case when op = 'out' then status
              when op = 'change' then status_before
              when op_before = 'out' and xid_before = xid then status_before end as from_status,
         case when op <> 'out' then status end as to_status
    from told
      -- What leaves and enters in one transaction is told by the line that enters.
   where (op <> 'out' or op_after is distinct from 'in' or xid_after is distinct from xid)
      -- A change that stays where it is, as a request to cancel, is no move.
     and (op <> 'change' or status is distinct from status_before);
  create index on chaos.edges (task_id, seq);
  create or replace view chaos.allowed_edges as select * from (values ${ALLOWED}) as edge (from_status, to_status);
  -- From its begin to its end, each claim of a task; an end counts from its commit.
  drop table if exists chaos.claims;
  create table chaos.claims as
  select task_id, claim_id, min(worker_id::text)::uuid as worker_id, min(seq) filter (where op = 'in') as begin_seq,
         min(seq) filter (where op = 'out') as end_seq, count(*) filter (where op = 'in') as begins,
         min(seq) filter (where op <> 'out' and status = 'RUNNING') as run_seq,
         min(at) filter (where op <> 'out' and status = 'RUNNING') as run_at,
         min(xid::text) filter (where op <> 'out' and status = 'RUNNING') as run_xid,
         min(xid::text) filter (where op = 'out') as end_xid,
         max(attempt_no) filter (where status = 'RUNNING') as attempt_no, min(queue) as queue,
         min(pg_xact_commit_timestamp(xid::xid)) filter (where op = 'out') as end_committed_at
    from chaos.journal
   where status in ('CLAIMED', 'RUNNING')
   group by task_id, claim_id;
  create index on chaos.claims (task_id, claim_id);
  analyze chaos.edges, chaos.claims, chaos.journal;`;
