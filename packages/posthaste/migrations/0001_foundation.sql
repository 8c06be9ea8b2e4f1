-- The life of a task, as tables. `@schema` stands for the schema's name.
--
-- A submission is a fact that never changes. The state of a task is the table that holds its moving row: ready_tasks
-- (PENDING), active_tasks (CLAIMED, RUNNING) or finished_tasks (the four terminal statuses). Every move from one to
-- another is one statement that deletes one row and inserts one row, so a task is in exactly one of the three.
--
-- No foreign keys and no triggers on these tables: each would cost a look-up per move. Every index serves what is named
-- beside it.

create table @schema.submissions (
  task_id       uuid primary key,
  name          text collate "C" not null,
  queue         text collate "C" not null,
  priority      smallint not null check (priority between 1 and 100),
  input         jsonb not null,
  -- What was decided when it was sent: { "retry": … }. Null: the worker's definition decides.
  options       jsonb,
  flags         jsonb,
  sent_at       timestamptz not null,
  good_until    timestamptz,
  key           text collate "C",
  workflow_id   uuid,
  node          text collate "C",
  trace_context jsonb
);

-- send with `key`: one task per name and key.
create unique index submissions_key_idx on @schema.submissions (name, key) where key is not null;

create table @schema.ready_tasks (
  task_id       uuid not null,
  name          text collate "C" not null,
  queue         text collate "C" not null,
  priority      smallint not null,
  -- When it may be claimed: the time of sending plus its delay, or the time of its next retry.
  enqueued_at   timestamptz not null,
  good_until    timestamptz,
  next_retry_at timestamptz,
  -- Bodies started so far; 0 until the first.
  run_no        integer not null,
  -- Retries spent; giving an attempt back lowers this, never run_no.
  retry_count   integer not null,
  crash_count   integer not null
) with (
  -- Rows live for milliseconds: vacuum by count, soon and without pauses, or claims walk over the dead ones.
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
  autovacuum_vacuum_cost_delay = 0
);

-- claim, look-ahead, survey
create index ready_tasks_claim_idx on @schema.ready_tasks (queue, priority, enqueued_at, task_id);
-- read, cancel, fail by id
create unique index ready_tasks_id_idx on @schema.ready_tasks (task_id);
-- expire: the maintenance pass over tasks that nobody claims
create index ready_tasks_deadline_idx on @schema.ready_tasks (good_until) where good_until is not null;

create table @schema.active_tasks (
  task_id             uuid not null,
  -- The fence: a new random value for every claim. Every later write of the claim's owner names it.
  claim_id            uuid not null,
  worker_id           uuid not null,
  status              text collate "C" not null,
  name                text collate "C" not null,
  queue               text collate "C" not null,
  priority            smallint not null,
  enqueued_at         timestamptz not null,
  good_until          timestamptz,
  next_retry_at       timestamptz,
  run_no              integer not null,
  retry_count         integer not null,
  crash_count         integer not null,
  claimed_at          timestamptz not null,
  started_at          timestamptz,
  claim_expires_at    timestamptz not null,
  heartbeat_at        timestamptz not null,
  cancel_requested_at timestamptz,
  constraint active_tasks_status check (status in ('CLAIMED', 'RUNNING')),
  constraint active_tasks_started check ((status = 'RUNNING') = (started_at is not null))
) with (
  -- Room on each page for the heartbeats' new versions (HOT: none of the columns they write is indexed).
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
  autovacuum_vacuum_cost_delay = 0
);

-- settle, start, read, cancel by id
create unique index active_tasks_id_idx on @schema.active_tasks (task_id);
-- heartbeat and the search for strays, by worker
create index active_tasks_worker_idx on @schema.active_tasks (worker_id);

create table @schema.finished_tasks (
  task_id       uuid not null,
  name          text collate "C" not null,
  queue         text collate "C" not null,
  status        text collate "C" not null,
  enqueued_at   timestamptz not null,
  next_retry_at timestamptz,
  claimed_at    timestamptz,
  -- Null when the body of the last claim did not run: then this row is no attempt.
  started_at    timestamptz,
  finished_at   timestamptz not null,
  -- The claim that wrote the end: whoever finds its own claim here knows that its commit went through. Null when
  -- somebody else ended the task (cancel, expiry, an operator).
  claim_id      uuid,
  worker_id     uuid,
  run_no        integer not null,
  retry_count   integer not null,
  crash_count   integer not null,
  cancel_requested_at timestamptz,
  error_code    text collate "C",
  result        jsonb,
  error         jsonb,
  constraint finished_tasks_status check (status in ('COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED')),
  constraint finished_tasks_outcome check ((status = 'COMPLETED') = (error_code is null))
);

-- read by id; and nothing ends twice
create unique index finished_tasks_id_idx on @schema.finished_tasks (task_id);
-- retention, by time: rows are written in that order, so a BRIN index is enough and costs almost nothing
create index finished_tasks_time_idx on @schema.finished_tasks using brin (finished_at) with (pages_per_range = 32);
-- what went wrong lately
create index finished_tasks_trouble_idx on @schema.finished_tasks (status, finished_at) where status <> 'COMPLETED';

-- Attempts that were not the last one; the last one is the row in finished_tasks.
create table @schema.attempts (
  task_id     uuid not null,
  run_no      integer not null,
  claim_id    uuid not null,
  worker_id   uuid not null,
  claimed_at  timestamptz not null,
  started_at  timestamptz not null,
  finished_at timestamptz not null,
  -- FAILED: the body failed and is tried again. INTERRUPTED: given back, no fault of the task.
  -- WORKER_FAILURE: its worker disappeared.
  outcome     text collate "C" not null check (outcome in ('FAILED', 'INTERRUPTED', 'WORKER_FAILURE')),
  error_code  text collate "C",
  error       jsonb,
  primary key (task_id, run_no)
);

-- Who waits for which result, and on which channel it listens. Unlogged: after a crash of the server the waiters
-- register again when they reconnect, and until then they poll.
create unlogged table @schema.waiters (
  task_id    uuid not null,
  channel    text collate "C" not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (task_id, channel)
);

create table @schema.workers (
  worker_id         uuid primary key,
  name              text not null,
  hostname          text not null,
  pid               integer not null,
  version           text not null,
  queues            text[] not null,
  task_names        text[] not null,
  concurrency       integer not null,
  state             text collate "C" not null check (state in ('running', 'stopping', 'stopped')),
  started_at        timestamptz not null default clock_timestamp(),
  last_heartbeat_at timestamptz not null default clock_timestamp()
);

-- Every task with its status and all its timestamps. One inner join for each status, with the status as a literal, so
-- that a filter on status reads only the table that can match, whether the status is written out or a parameter. (With
-- one join for all of finished_tasks, a filter on PENDING read that table too: constraint exclusion does not look inside
-- the joins of a union.) A task that moves while a statement reads is seen once: one statement has one snapshot.
create view @schema.tasks as
select s.task_id as id, s.name, s.queue, s.priority, 'PENDING'::text as status, s.input, s.options, s.flags, s.key,
       s.sent_at, r.enqueued_at, null::timestamptz as claimed_at, null::timestamptz as started_at,
       null::timestamptz as completed_at, null::timestamptz as failed_at, null::timestamptz as cancelled_at,
       null::timestamptz as finished_at, r.next_retry_at, s.good_until, null::timestamptz as cancel_requested_at,
       r.run_no, r.retry_count, r.crash_count, null::uuid as worker_id, null::uuid as claim_id,
       null::timestamptz as claim_expires_at, null::timestamptz as heartbeat_at,
       null::jsonb as result, null::jsonb as error, null::text as error_code,
       (select a.error from @schema.attempts a where a.task_id = s.task_id order by a.run_no desc limit 1) as last_error,
       s.workflow_id, s.node
  from @schema.ready_tasks r join @schema.submissions s using (task_id)
union all
select s.task_id, s.name, s.queue, s.priority, 'CLAIMED', s.input, s.options, s.flags, s.key,
       s.sent_at, a.enqueued_at, a.claimed_at, a.started_at, null, null, null, null, a.next_retry_at, s.good_until,
       a.cancel_requested_at, a.run_no, a.retry_count, a.crash_count, a.worker_id, a.claim_id, a.claim_expires_at,
       a.heartbeat_at, null, null, null,
       (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.run_no desc limit 1),
       s.workflow_id, s.node
  from @schema.active_tasks a join @schema.submissions s using (task_id)
 where a.status = 'CLAIMED'
union all
select s.task_id, s.name, s.queue, s.priority, 'RUNNING', s.input, s.options, s.flags, s.key,
       s.sent_at, a.enqueued_at, a.claimed_at, a.started_at, null, null, null, null, a.next_retry_at, s.good_until,
       a.cancel_requested_at, a.run_no, a.retry_count, a.crash_count, a.worker_id, a.claim_id, a.claim_expires_at,
       a.heartbeat_at, null, null, null,
       (select t.error from @schema.attempts t where t.task_id = s.task_id order by t.run_no desc limit 1),
       s.workflow_id, s.node
  from @schema.active_tasks a join @schema.submissions s using (task_id)
 where a.status = 'RUNNING'
union all
select s.task_id, s.name, s.queue, s.priority, 'COMPLETED', s.input, s.options, s.flags, s.key,
       s.sent_at, f.enqueued_at, f.claimed_at, f.started_at, f.finished_at, null, null,
       f.finished_at, f.next_retry_at, s.good_until, f.cancel_requested_at, f.run_no, f.retry_count, f.crash_count,
       f.worker_id, f.claim_id, null, null, f.result, f.error, f.error_code,
       coalesce(f.error, (select t.error from @schema.attempts t where t.task_id = s.task_id
                           order by t.run_no desc limit 1)),
       s.workflow_id, s.node
  from @schema.finished_tasks f join @schema.submissions s using (task_id)
 where f.status = 'COMPLETED'
union all
select s.task_id, s.name, s.queue, s.priority, 'FAILED', s.input, s.options, s.flags, s.key,
       s.sent_at, f.enqueued_at, f.claimed_at, f.started_at, null, f.finished_at, null,
       f.finished_at, f.next_retry_at, s.good_until, f.cancel_requested_at, f.run_no, f.retry_count, f.crash_count,
       f.worker_id, f.claim_id, null, null, f.result, f.error, f.error_code,
       coalesce(f.error, (select t.error from @schema.attempts t where t.task_id = s.task_id
                           order by t.run_no desc limit 1)),
       s.workflow_id, s.node
  from @schema.finished_tasks f join @schema.submissions s using (task_id)
 where f.status = 'FAILED'
union all
select s.task_id, s.name, s.queue, s.priority, 'CANCELLED', s.input, s.options, s.flags, s.key,
       s.sent_at, f.enqueued_at, f.claimed_at, f.started_at, null, null, f.finished_at,
       f.finished_at, f.next_retry_at, s.good_until, f.cancel_requested_at, f.run_no, f.retry_count, f.crash_count,
       f.worker_id, f.claim_id, null, null, f.result, f.error, f.error_code,
       coalesce(f.error, (select t.error from @schema.attempts t where t.task_id = s.task_id
                           order by t.run_no desc limit 1)),
       s.workflow_id, s.node
  from @schema.finished_tasks f join @schema.submissions s using (task_id)
 where f.status = 'CANCELLED'
union all
select s.task_id, s.name, s.queue, s.priority, 'EXPIRED', s.input, s.options, s.flags, s.key,
       s.sent_at, f.enqueued_at, f.claimed_at, f.started_at, null, f.finished_at, null,
       f.finished_at, f.next_retry_at, s.good_until, f.cancel_requested_at, f.run_no, f.retry_count, f.crash_count,
       f.worker_id, f.claim_id, null, null, f.result, f.error, f.error_code,
       coalesce(f.error, (select t.error from @schema.attempts t where t.task_id = s.task_id
                           order by t.run_no desc limit 1)),
       s.workflow_id, s.node
  from @schema.finished_tasks f join @schema.submissions s using (task_id)
 where f.status = 'EXPIRED';
