-- oldest library: 0.1.0
-- The life of a task, as tables. `@schema` stands for the schema's name.
--
-- A submission is a fact that never changes. The state of a task is the table that holds its moving row: ready_tasks
-- (PENDING), active_tasks (CLAIMED, RUNNING) or finished_tasks (the four terminal statuses). Every move from one to
-- another is one statement that deletes one row and inserts one row, so a task is in exactly one of the three.
--
-- No foreign keys and no triggers on these tables: each would cost a look-up per move. The comment of an index names its
-- users.

-- Rows are narrow, because a task writes each of them to the log: fixed widths first (no padding), nothing that its
-- submission says already, and null where the usual value is meant.

create table @schema.submissions (
  task_id       uuid primary key,
  -- The default is for COPY, here and in ready_tasks: both tables get the time of the message.
  sent_at       timestamptz not null default statement_timestamp(),
  -- When it was first due, if that was later than its sending.
  run_at        timestamptz,
  good_until    timestamptz,
  workflow_id   uuid,
  priority      smallint not null check (priority between 1 and 100),
  name          text collate "C" not null,
  queue         text collate "C" not null,
  key           text collate "C",
  node          text collate "C",
  -- As it was sent: json takes half the space of jsonb for a small value, and only the worker reads it.
  input         json not null,
  -- The options decided when it was sent: { "retry": … }. Null: the worker's definition decides.
  options       jsonb,
  flags         jsonb,
  trace_context jsonb
);

-- send with `key`: one task per name and key.
create unique index submissions_key_idx on @schema.submissions (name, key) where key is not null;

-- A row that was never claimed has the place of its submission: (queue, priority, run_at or sent_at, task_id). So it is
-- found by that place, and only rows that returned to their queue need an index by id.
create table @schema.ready_tasks (
  task_id       uuid not null,
  -- When it may be claimed: the time of sending plus its delay, or the time of its next retry.
  enqueued_at   timestamptz not null default statement_timestamp(),
  good_until    timestamptz,
  -- Handlers started so far. Null: it was never claimed.
  attempt_no        integer,
  -- Spent retries; a requeue lowers this, never attempt_no. Null: 0.
  retry_count   integer,
  crash_count   integer,
  priority      smallint not null,
  queue         text collate "C" not null
) with (
  -- Rows live for milliseconds: vacuum by count, soon and without pauses, or claims read the dead ones.
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
  autovacuum_vacuum_cost_delay = 0
);

-- claim, survey; read, cancel, fail of tasks that were never claimed
create unique index ready_tasks_claim_idx on @schema.ready_tasks (queue, priority, enqueued_at, task_id);
-- read, cancel, fail of tasks that returned to their queue
create unique index ready_tasks_id_idx on @schema.ready_tasks (task_id) where attempt_no is not null;
-- expire: the maintenance pass
create index ready_tasks_deadline_idx on @schema.ready_tasks (good_until) where good_until is not null;

-- CLAIMED until started_at is set, RUNNING from then on.
create table @schema.active_tasks (
  task_id             uuid not null,
  -- The fence: a new random value for every claim. Every later write of the claim's owner names it with the task.
  claim_id            uuid not null,
  worker_id           uuid not null,
  -- Null: when its submission was first due.
  enqueued_at         timestamptz,
  -- Null: at the moment it started.
  claimed_at          timestamptz,
  started_at          timestamptz,
  good_until          timestamptz,
  -- The lease of a prefetched task. Null once it has started.
  claim_expires_at    timestamptz,
  -- Null before the first heartbeat: most tasks end earlier.
  heartbeat_at        timestamptz,
  cancel_requested_at timestamptz,
  -- Handlers started so far, this one included. Null: this is its first claim, so 1, or 0 until it starts.
  attempt_no              integer,
  retry_count         integer,
  crash_count         integer,
  -- Its queue, if it was claimed under a cap and counts for it. Null: no cap that its worker knows of.
  capped_queue        text collate "C",
  constraint active_tasks_held check (claimed_at is not null or started_at is not null)
) with (
  -- Room on each page for the heartbeats' new versions (HOT: none of the columns they write is indexed).
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
  autovacuum_vacuum_cost_delay = 0
);

-- settle, start, heartbeat, read, cancel by id. There is none by worker: it would cost each task an entry, for a search
-- that a worker makes once a heartbeat, in a table that has only the tasks under way.
create unique index active_tasks_id_idx on @schema.active_tasks (task_id);

-- queue_load: only tasks claimed under a cap have an entry.
create index active_tasks_capped_idx on @schema.active_tasks (capped_queue) where capped_queue is not null;

create table @schema.finished_tasks (
  task_id       uuid not null,
  -- The claim that wrote the end: a worker that finds its own claim here knows that its commit succeeded. Null when the
  -- task was ended without a claim (cancel, expiry, an operator).
  claim_id      uuid,
  worker_id     uuid,
  -- Null: when its submission was first due.
  enqueued_at   timestamptz,
  -- Null: at the moment it started, or never.
  claimed_at    timestamptz,
  -- Null when the handler of the last claim did not run: then this row is no attempt.
  started_at    timestamptz,
  finished_at   timestamptz not null,
  cancel_requested_at timestamptz,
  -- As in active_tasks. Null: 1 if started_at is set, otherwise 0.
  attempt_no        integer,
  -- Null: 0, in both.
  retry_count   integer,
  crash_count   integer,
  -- Null: COMPLETED, the usual end.
  status        text collate "C",
  error_code    text collate "C",
  result        jsonb,
  error         jsonb,
  constraint finished_tasks_outcome check (
    case when error_code is null then status is null
         else status is not null and status in ('FAILED', 'CANCELLED', 'EXPIRED') end)
);

-- read by id; nothing ends twice; retention
create unique index finished_tasks_id_idx on @schema.finished_tasks (task_id);
-- retention: of ids that are not in the order of sending, as random ones of callers are not. An id of version 7 lies below
-- until the year 2109, so that the tasks whose ids we make pay a comparison, and no entry.
create index finished_tasks_own_id_idx on @schema.finished_tasks (finished_at)
  where task_id >= '04000000-0000-0000-0000-000000000000';

-- Attempts that were not the last one; the last one is the row in finished_tasks.
create table @schema.attempts (
  task_id     uuid not null,
  attempt_no      integer not null,
  claim_id    uuid not null,
  worker_id   uuid not null,
  claimed_at  timestamptz not null,
  started_at  timestamptz not null,
  finished_at timestamptz not null,
  -- FAILED: the handler failed and is retried. INTERRUPTED: requeued, no fault of the task.
  -- WORKER_FAILURE: its worker disappeared.
  outcome     text collate "C" not null check (outcome in ('FAILED', 'INTERRUPTED', 'WORKER_FAILURE')),
  error_code  text collate "C",
  error       jsonb,
  primary key (task_id, attempt_no)
);

-- Clients that wait for results, and their channels. Unlogged: after a crash of the server the waiters
-- register again when they reconnect, and until then they poll.
create unlogged table @schema.waiters (
  task_id    uuid not null,
  channel    text collate "C" not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (task_id, channel)
);

-- Queues that were ever paused. A queue without a row is open.
create table @schema.queues (
  queue     text collate "C" primary key,
  -- Null: it is open. Otherwise its tasks are neither claimed nor started.
  paused_at timestamptz
);

-- The last progress report of a task, kept when the task has ended.
create table @schema.progress (
  task_id    uuid primary key,
  attempt_no     integer not null,
  updated_at timestamptz not null,
  value      jsonb not null
) with (fillfactor = 50);

-- The defaults of SQL's send(): the definition of the task, as a worker registered it.
-- A row for each task name that a worker has ever registered. The newest registration wins; a row whose worker is gone stays,
-- as its tasks do.
create table @schema.task_definitions (
  name           text collate "C" primary key,
  registered_at  timestamptz not null default clock_timestamp(),
  -- The definition's own. Null: it leaves it to the queue.
  priority       smallint check (priority between 1 and 100),
  -- The options of the queue in the app's config. Null: none.
  queue_priority smallint check (queue_priority between 1 and 100),
  queue          text collate "C" not null,
  -- As a sender would write them into submissions.
  options        jsonb,
  flags          jsonb
);

-- Every task with its status and all its timestamps. One inner join for each status, with the status as a literal, so
-- that a filter on status reads only the table that can match, whether the status is written out or a parameter. (With
-- one join for all of finished_tasks, a filter on PENDING read that table too: constraint exclusion does not look inside
-- the joins of a union.) A task that moves while a statement reads is seen once: one statement has one snapshot.
-- view: made by scripts/tasks-view.ts, do not edit
create view @schema.tasks as
select s.task_id as id, s.name, s.queue, s.priority, 'PENDING'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, r.enqueued_at, null::timestamptz as claimed_at, null::timestamptz as started_at,
       null::timestamptz as completed_at, null::timestamptz as failed_at, null::timestamptz as cancelled_at,
       null::timestamptz as finished_at, null::timestamptz as next_retry_at, s.good_until,
       null::timestamptz as cancel_requested_at, 0 as attempt_no, 0 as retry_count, 0 as crash_count,
       null::uuid as worker_id, null::uuid as claim_id, null::timestamptz as claim_expires_at,
       null::timestamptz as heartbeat_at, null::jsonb as result, null::jsonb as error, null::text as error_code,
       null::jsonb as last_error, s.workflow_id, s.node
  from @schema.submissions s
  join @schema.ready_tasks r on r.queue = s.queue and r.priority = s.priority
                            and r.enqueued_at = coalesce(s.run_at, s.sent_at) and r.task_id = s.task_id
 where r.attempt_no is null
union all
select s.task_id as id, s.name, s.queue, s.priority, 'PENDING'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, r.enqueued_at, null::timestamptz as claimed_at, null::timestamptz as started_at,
       null::timestamptz as completed_at, null::timestamptz as failed_at, null::timestamptz as cancelled_at,
       null::timestamptz as finished_at, case when r.retry_count > 0 then r.enqueued_at end as next_retry_at,
       s.good_until, null::timestamptz as cancel_requested_at, r.attempt_no, coalesce(r.retry_count, 0) as retry_count,
       coalesce(r.crash_count, 0) as crash_count, null::uuid as worker_id, null::uuid as claim_id,
       null::timestamptz as claim_expires_at, null::timestamptz as heartbeat_at, null::jsonb as result,
       null::jsonb as error, null::text as error_code,
       (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.attempt_no desc limit 1) as last_error,
       s.workflow_id, s.node
  from @schema.ready_tasks r join @schema.submissions s using (task_id)
 where r.attempt_no is not null
union all
select s.task_id as id, s.name, s.queue, s.priority, 'CLAIMED'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, coalesce(a.enqueued_at, s.run_at, s.sent_at) as enqueued_at,
       coalesce(a.claimed_at, a.started_at) as claimed_at, a.started_at, null::timestamptz as completed_at,
       null::timestamptz as failed_at, null::timestamptz as cancelled_at, null::timestamptz as finished_at,
       case when a.retry_count > 0 then a.enqueued_at end as next_retry_at, s.good_until, a.cancel_requested_at,
       coalesce(a.attempt_no, 0) as attempt_no, coalesce(a.retry_count, 0) as retry_count,
       coalesce(a.crash_count, 0) as crash_count, a.worker_id, a.claim_id, a.claim_expires_at, a.heartbeat_at,
       null::jsonb as result, null::jsonb as error, null::text as error_code,
       (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.attempt_no desc limit 1) as last_error,
       s.workflow_id, s.node
  from @schema.active_tasks a join @schema.submissions s using (task_id)
 where a.started_at is null
union all
select s.task_id as id, s.name, s.queue, s.priority, 'RUNNING'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, coalesce(a.enqueued_at, s.run_at, s.sent_at) as enqueued_at,
       coalesce(a.claimed_at, a.started_at) as claimed_at, a.started_at, null::timestamptz as completed_at,
       null::timestamptz as failed_at, null::timestamptz as cancelled_at, null::timestamptz as finished_at,
       case when a.retry_count > 0 then a.enqueued_at end as next_retry_at, s.good_until, a.cancel_requested_at,
       coalesce(a.attempt_no, 1) as attempt_no, coalesce(a.retry_count, 0) as retry_count,
       coalesce(a.crash_count, 0) as crash_count, a.worker_id, a.claim_id, a.claim_expires_at, a.heartbeat_at,
       null::jsonb as result, null::jsonb as error, null::text as error_code,
       (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.attempt_no desc limit 1) as last_error,
       s.workflow_id, s.node
  from @schema.active_tasks a join @schema.submissions s using (task_id)
 where a.started_at is not null
union all
select s.task_id as id, s.name, s.queue, s.priority, 'COMPLETED'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, coalesce(f.enqueued_at, s.run_at, s.sent_at) as enqueued_at,
       coalesce(f.claimed_at, f.started_at) as claimed_at, f.started_at, f.finished_at as completed_at,
       null::timestamptz as failed_at, null::timestamptz as cancelled_at, f.finished_at,
       case when f.retry_count > 0 then f.enqueued_at end as next_retry_at, s.good_until, f.cancel_requested_at,
       coalesce(f.attempt_no, (f.started_at is not null)::integer) as attempt_no,
       coalesce(f.retry_count, 0) as retry_count, coalesce(f.crash_count, 0) as crash_count, f.worker_id, f.claim_id,
       null::timestamptz as claim_expires_at, null::timestamptz as heartbeat_at, f.result, f.error, f.error_code,
       coalesce(f.error, (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.attempt_no desc limit 1)) as last_error,
       s.workflow_id, s.node
  from @schema.finished_tasks f join @schema.submissions s using (task_id)
 where f.status is null
union all
select s.task_id as id, s.name, s.queue, s.priority, 'FAILED'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, coalesce(f.enqueued_at, s.run_at, s.sent_at) as enqueued_at,
       coalesce(f.claimed_at, f.started_at) as claimed_at, f.started_at, null::timestamptz as completed_at,
       f.finished_at as failed_at, null::timestamptz as cancelled_at, f.finished_at,
       case when f.retry_count > 0 then f.enqueued_at end as next_retry_at, s.good_until, f.cancel_requested_at,
       coalesce(f.attempt_no, (f.started_at is not null)::integer) as attempt_no,
       coalesce(f.retry_count, 0) as retry_count, coalesce(f.crash_count, 0) as crash_count, f.worker_id, f.claim_id,
       null::timestamptz as claim_expires_at, null::timestamptz as heartbeat_at, f.result, f.error, f.error_code,
       coalesce(f.error, (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.attempt_no desc limit 1)) as last_error,
       s.workflow_id, s.node
  from @schema.finished_tasks f join @schema.submissions s using (task_id)
 where f.status = 'FAILED'
union all
select s.task_id as id, s.name, s.queue, s.priority, 'CANCELLED'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, coalesce(f.enqueued_at, s.run_at, s.sent_at) as enqueued_at,
       coalesce(f.claimed_at, f.started_at) as claimed_at, f.started_at, null::timestamptz as completed_at,
       null::timestamptz as failed_at, f.finished_at as cancelled_at, f.finished_at,
       case when f.retry_count > 0 then f.enqueued_at end as next_retry_at, s.good_until, f.cancel_requested_at,
       coalesce(f.attempt_no, (f.started_at is not null)::integer) as attempt_no,
       coalesce(f.retry_count, 0) as retry_count, coalesce(f.crash_count, 0) as crash_count, f.worker_id, f.claim_id,
       null::timestamptz as claim_expires_at, null::timestamptz as heartbeat_at, f.result, f.error, f.error_code,
       coalesce(f.error, (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.attempt_no desc limit 1)) as last_error,
       s.workflow_id, s.node
  from @schema.finished_tasks f join @schema.submissions s using (task_id)
 where f.status = 'CANCELLED'
union all
select s.task_id as id, s.name, s.queue, s.priority, 'EXPIRED'::text as status, s.input::jsonb as input, s.options,
       s.flags, s.key, s.sent_at, coalesce(f.enqueued_at, s.run_at, s.sent_at) as enqueued_at,
       coalesce(f.claimed_at, f.started_at) as claimed_at, f.started_at, null::timestamptz as completed_at,
       f.finished_at as failed_at, null::timestamptz as cancelled_at, f.finished_at,
       case when f.retry_count > 0 then f.enqueued_at end as next_retry_at, s.good_until, f.cancel_requested_at,
       coalesce(f.attempt_no, (f.started_at is not null)::integer) as attempt_no,
       coalesce(f.retry_count, 0) as retry_count, coalesce(f.crash_count, 0) as crash_count, f.worker_id, f.claim_id,
       null::timestamptz as claim_expires_at, null::timestamptz as heartbeat_at, f.result, f.error, f.error_code,
       coalesce(f.error, (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.attempt_no desc limit 1)) as last_error,
       s.workflow_id, s.node
  from @schema.finished_tasks f join @schema.submissions s using (task_id)
 where f.status = 'EXPIRED';
-- view: end
