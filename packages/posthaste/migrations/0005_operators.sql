-- oldest library: 0.1.0
-- Tasks for operators: lists of ends, retries of tasks that have ended, and who did what.

-- Null in rows that COMPLETED, which must not pay for lists, and in rows of an older library: the submission has both. Null
-- columns at the end of a row cost no byte, because the bitmap of nulls is padded to 8 bytes as before.
alter table @schema.finished_tasks
  add column name  text collate "C",
  add column queue text collate "C";

-- Lists of ends other than COMPLETED, latest first; by name, by queue, by error code. A completed task has no entry in any.
create index finished_tasks_ended_idx on @schema.finished_tasks (status, finished_at, task_id) where status is not null;
create index finished_tasks_name_idx on @schema.finished_tasks (status, name, finished_at, task_id) where status is not null;
create index finished_tasks_queue_idx on @schema.finished_tasks (status, queue, finished_at, task_id) where status is not null;
create index finished_tasks_code_idx on @schema.finished_tasks (status, error_code, finished_at, task_id)
  where status is not null;
-- The ends that an older library wrote, which has stored no name. Empty a while after an upgrade.
create index finished_tasks_unnamed_idx on @schema.finished_tasks (status, finished_at, task_id)
  where status is not null and name is null;

-- The task of which an operator sent this one as a copy. Null: it is no copy.
alter table @schema.submissions add column copy_of uuid;

-- An operator's retry moves the last attempt of an ended task here. Its claim is null where the end was written without one.
alter table @schema.attempts
  alter column claim_id drop not null,
  -- True: it ended its task, which an operator has retried since. Null: the task went on by itself.
  add column ended_task boolean,
  drop constraint attempts_outcome_check,
  add constraint attempts_outcome_check check (outcome in ('FAILED', 'INTERRUPTED', 'WORKER_FAILURE', 'CANCELLED'));

-- An end that an operator took back: the task runs again under its id.
create table @schema.task_retries (
  id          bigint generated always as identity primary key,
  task_id     uuid not null,
  retried_at  timestamptz not null default clock_timestamp(),
  retried_by  text not null,
  -- The end.
  status      text collate "C" not null check (status in ('FAILED', 'CANCELLED', 'EXPIRED')),
  finished_at timestamptz not null,
  -- The claim that wrote it: a worker that finds its own claim here knows that its commit succeeded. Null: no claim did.
  claim_id    uuid,
  -- Handlers started until then.
  attempt_no  integer not null,
  error_code  text collate "C" not null,
  error       jsonb,
  -- The new deadline of the task. Null: the one it had.
  good_until  timestamptz
);

-- the retries of a task, oldest first
create index task_retries_task_idx on @schema.task_retries (task_id, id);

-- What operators did. A row is written before the action begins.
create table @schema.operator_actions (
  id       bigint generated always as identity primary key,
  begun_at timestamptz not null default clock_timestamp(),
  -- Null: it is under way, or its process is gone.
  ended_at timestamptz,
  -- The role that logged in.
  actor    text not null,
  -- The person or program behind that role, as the caller says. Null: not said.
  acted_by text,
  action   text collate "C" not null,
  -- A task, a run or a queue. Null: several.
  target   text,
  -- The options of the call: for an action on several tasks, which.
  filter   jsonb not null,
  -- Tasks, runs or queues that were changed. Counted while it is under way.
  affected integer not null default 0
);

-- the actions on a task, a run or a queue, latest first
create index operator_actions_target_idx on @schema.operator_actions (target, id) where target is not null;

-- The effective options of a worker; for explaining which caps hold a task back. Null: registered by an older library.
alter table @schema.workers add column config jsonb;

-- view: made by scripts/tasks-view.ts, do not edit
create or replace view @schema.tasks as
select s.task_id as id, s.name, s.queue, r.priority, 'PENDING'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, r.enqueued_at, null::timestamptz as claimed_at, null::timestamptz as started_at,
       null::timestamptz as completed_at, null::timestamptz as failed_at, null::timestamptz as cancelled_at,
       null::timestamptz as finished_at, null::timestamptz as next_retry_at, r.good_until,
       null::timestamptz as cancel_requested_at, 0 as attempt_no, 0 as retry_count, 0 as crash_count,
       null::uuid as worker_id, null::uuid as claim_id, null::timestamptz as claim_expires_at,
       null::timestamptz as heartbeat_at, null::jsonb as result, null::jsonb as error, null::text as error_code,
       null::jsonb as last_error, s.workflow_id, s.node, s.copy_of
  from @schema.submissions s
  join @schema.ready_tasks r on r.queue = s.queue and r.priority = s.priority
                            and r.enqueued_at = coalesce(s.run_at, s.sent_at) and r.task_id = s.task_id
 where r.attempt_no is null
union all
select s.task_id as id, s.name, s.queue, r.priority, 'PENDING'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, r.enqueued_at, null::timestamptz as claimed_at, null::timestamptz as started_at,
       null::timestamptz as completed_at, null::timestamptz as failed_at, null::timestamptz as cancelled_at,
       null::timestamptz as finished_at, case when r.retry_count > 0 then r.enqueued_at end as next_retry_at,
       r.good_until, null::timestamptz as cancel_requested_at, r.attempt_no, coalesce(r.retry_count, 0) as retry_count,
       coalesce(r.crash_count, 0) as crash_count, null::uuid as worker_id, null::uuid as claim_id,
       null::timestamptz as claim_expires_at, null::timestamptz as heartbeat_at, null::jsonb as result,
       null::jsonb as error, null::text as error_code,
       (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.attempt_no desc limit 1) as last_error,
       s.workflow_id, s.node, s.copy_of
  from @schema.ready_tasks r join @schema.submissions s using (task_id)
 where r.attempt_no is not null
union all
select s.task_id as id, s.name, s.queue, s.priority, 'CLAIMED'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, coalesce(a.enqueued_at, s.run_at, s.sent_at) as enqueued_at,
       coalesce(a.claimed_at, a.started_at) as claimed_at, a.started_at, null::timestamptz as completed_at,
       null::timestamptz as failed_at, null::timestamptz as cancelled_at, null::timestamptz as finished_at,
       case when a.retry_count > 0 then a.enqueued_at end as next_retry_at, a.good_until, a.cancel_requested_at,
       coalesce(a.attempt_no, 0) as attempt_no, coalesce(a.retry_count, 0) as retry_count,
       coalesce(a.crash_count, 0) as crash_count, a.worker_id, a.claim_id, a.claim_expires_at, a.heartbeat_at,
       null::jsonb as result, null::jsonb as error, null::text as error_code,
       (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.attempt_no desc limit 1) as last_error,
       s.workflow_id, s.node, s.copy_of
  from @schema.active_tasks a join @schema.submissions s using (task_id)
 where a.started_at is null
union all
select s.task_id as id, s.name, s.queue, s.priority, 'RUNNING'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, coalesce(a.enqueued_at, s.run_at, s.sent_at) as enqueued_at,
       coalesce(a.claimed_at, a.started_at) as claimed_at, a.started_at, null::timestamptz as completed_at,
       null::timestamptz as failed_at, null::timestamptz as cancelled_at, null::timestamptz as finished_at,
       case when a.retry_count > 0 then a.enqueued_at end as next_retry_at, a.good_until, a.cancel_requested_at,
       coalesce(a.attempt_no, 1) as attempt_no, coalesce(a.retry_count, 0) as retry_count,
       coalesce(a.crash_count, 0) as crash_count, a.worker_id, a.claim_id, a.claim_expires_at, a.heartbeat_at,
       null::jsonb as result, null::jsonb as error, null::text as error_code,
       (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.attempt_no desc limit 1) as last_error,
       s.workflow_id, s.node, s.copy_of
  from @schema.active_tasks a join @schema.submissions s using (task_id)
 where a.started_at is not null
union all
select s.task_id as id, s.name, s.queue, s.priority, 'COMPLETED'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, coalesce(f.enqueued_at, s.run_at, s.sent_at) as enqueued_at,
       coalesce(f.claimed_at, f.started_at) as claimed_at, f.started_at, f.finished_at as completed_at,
       null::timestamptz as failed_at, null::timestamptz as cancelled_at, f.finished_at,
       case when f.retry_count > 0 then f.enqueued_at end as next_retry_at,
       coalesce((select t.good_until from @schema.task_retries t where t.task_id = s.task_id and t.good_until is not null order by t.id desc limit 1), s.good_until) as good_until,
       f.cancel_requested_at, coalesce(f.attempt_no, (f.started_at is not null)::integer) as attempt_no,
       coalesce(f.retry_count, 0) as retry_count, coalesce(f.crash_count, 0) as crash_count, f.worker_id, f.claim_id,
       null::timestamptz as claim_expires_at, null::timestamptz as heartbeat_at, f.result, f.error, f.error_code,
       coalesce(f.error, (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.attempt_no desc limit 1)) as last_error,
       s.workflow_id, s.node, s.copy_of
  from @schema.finished_tasks f join @schema.submissions s using (task_id)
 where f.status is null
union all
select s.task_id as id, s.name, s.queue, s.priority, 'FAILED'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, coalesce(f.enqueued_at, s.run_at, s.sent_at) as enqueued_at,
       coalesce(f.claimed_at, f.started_at) as claimed_at, f.started_at, null::timestamptz as completed_at,
       f.finished_at as failed_at, null::timestamptz as cancelled_at, f.finished_at,
       case when f.retry_count > 0 then f.enqueued_at end as next_retry_at,
       coalesce((select t.good_until from @schema.task_retries t where t.task_id = s.task_id and t.good_until is not null order by t.id desc limit 1), s.good_until) as good_until,
       f.cancel_requested_at, coalesce(f.attempt_no, (f.started_at is not null)::integer) as attempt_no,
       coalesce(f.retry_count, 0) as retry_count, coalesce(f.crash_count, 0) as crash_count, f.worker_id, f.claim_id,
       null::timestamptz as claim_expires_at, null::timestamptz as heartbeat_at, f.result, f.error, f.error_code,
       coalesce(f.error, (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.attempt_no desc limit 1)) as last_error,
       s.workflow_id, s.node, s.copy_of
  from @schema.finished_tasks f join @schema.submissions s using (task_id)
 where f.status = 'FAILED'
union all
select s.task_id as id, s.name, s.queue, s.priority, 'CANCELLED'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, coalesce(f.enqueued_at, s.run_at, s.sent_at) as enqueued_at,
       coalesce(f.claimed_at, f.started_at) as claimed_at, f.started_at, null::timestamptz as completed_at,
       null::timestamptz as failed_at, f.finished_at as cancelled_at, f.finished_at,
       case when f.retry_count > 0 then f.enqueued_at end as next_retry_at,
       coalesce((select t.good_until from @schema.task_retries t where t.task_id = s.task_id and t.good_until is not null order by t.id desc limit 1), s.good_until) as good_until,
       f.cancel_requested_at, coalesce(f.attempt_no, (f.started_at is not null)::integer) as attempt_no,
       coalesce(f.retry_count, 0) as retry_count, coalesce(f.crash_count, 0) as crash_count, f.worker_id, f.claim_id,
       null::timestamptz as claim_expires_at, null::timestamptz as heartbeat_at, f.result, f.error, f.error_code,
       coalesce(f.error, (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.attempt_no desc limit 1)) as last_error,
       s.workflow_id, s.node, s.copy_of
  from @schema.finished_tasks f join @schema.submissions s using (task_id)
 where f.status = 'CANCELLED'
union all
select s.task_id as id, s.name, s.queue, s.priority, 'EXPIRED'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, coalesce(f.enqueued_at, s.run_at, s.sent_at) as enqueued_at,
       coalesce(f.claimed_at, f.started_at) as claimed_at, f.started_at, null::timestamptz as completed_at,
       f.finished_at as failed_at, null::timestamptz as cancelled_at, f.finished_at,
       case when f.retry_count > 0 then f.enqueued_at end as next_retry_at,
       coalesce((select t.good_until from @schema.task_retries t where t.task_id = s.task_id and t.good_until is not null order by t.id desc limit 1), s.good_until) as good_until,
       f.cancel_requested_at, coalesce(f.attempt_no, (f.started_at is not null)::integer) as attempt_no,
       coalesce(f.retry_count, 0) as retry_count, coalesce(f.crash_count, 0) as crash_count, f.worker_id, f.claim_id,
       null::timestamptz as claim_expires_at, null::timestamptz as heartbeat_at, f.result, f.error, f.error_code,
       coalesce(f.error, (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.attempt_no desc limit 1)) as last_error,
       s.workflow_id, s.node, s.copy_of
  from @schema.finished_tasks f join @schema.submissions s using (task_id)
 where f.status = 'EXPIRED';
-- view: end
