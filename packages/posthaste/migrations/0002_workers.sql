-- oldest library: 0.1.0
-- Workers, their heartbeats and samples, and recoveries of their tasks.

create table @schema.workers (
  worker_id         uuid primary key,
  name              text not null,
  hostname          text not null,
  pid               integer not null,
  version           text not null,
  queues            text[] not null,
  task_names        text[] not null,
  concurrency       integer not null,
  -- dead: its process is gone or was silent for too long, and its tasks are recovered. Final: if it comes back, it registers
  -- again under another id.
  state             text collate "C" not null check (state in ('running', 'stopping', 'stopped', 'dead')),
  started_at        timestamptz not null default clock_timestamp(),
  last_heartbeat_at timestamptz not null default clock_timestamp(),
  -- The advisory lock that its session holds for as long as its process lives. Null: it has no session of its own
  -- (behind a pooler), and only its heartbeats show that it lives.
  liveness_key      integer,
  -- Since when that lock is missing, and its last heartbeat at that time.
  lock_missing_since timestamptz,
  lock_missing_beat timestamptz,
  died_at           timestamptz,
  -- When it last acted as the leader.
  leads_at          timestamptz,
  -- How long its event loop had not turned at the last heartbeat.
  loop_blocked_ms   integer not null default 0,
  metadata          jsonb
);

-- The history of heartbeats, for people to read. Verdicts use active_tasks.heartbeat_at, which belongs to one claim.
-- A task that ends within an interval has none.
create table @schema.heartbeats (
  id        bigint generated always as identity primary key,
  task_id   uuid not null,
  claim_id  uuid not null,
  sender_id uuid not null,
  sent_at   timestamptz not null,
  pid       integer not null,
  -- claimer: for a task that is claimed and not started. runner: for one that runs.
  role      text collate "C" not null check (role in ('claimer', 'runner')),
  hostname  text not null
);

-- the heartbeats of a task
create index heartbeats_task_idx on @schema.heartbeats (task_id, sent_at);
-- retention, oldest first
create index heartbeats_time_idx on @schema.heartbeats (sent_at);

-- Samples of workers.
create table @schema.worker_states (
  id            bigint generated always as identity primary key,
  worker_id     uuid not null,
  taken_at      timestamptz not null default clock_timestamp(),
  hostname      text not null,
  pid           integer not null,
  state         text collate "C" not null,
  concurrency   integer not null,
  tasks_running integer not null,
  tasks_claimed integer not null,
  -- The share of one core since the last sample.
  cpu_percent   real not null,
  rss_bytes     bigint not null,
  heap_bytes    bigint not null,
  -- The longest delay of the event loop since the last sample.
  loop_lag_ms   integer not null,
  config        jsonb not null
);

-- the states of a worker, latest first
create index worker_states_worker_idx on @schema.worker_states (worker_id, taken_at);
create index worker_states_time_idx on @schema.worker_states (taken_at);

-- Every recovered task, and every task that a hook left to its worker: cause, evidence and decision.
create table @schema.recoveries (
  id           bigint generated always as identity primary key,
  task_id      uuid not null,
  claim_id     uuid not null,
  -- The worker that had claimed it.
  worker_id    uuid not null,
  recovered_at timestamptz not null,
  -- When it is due again; for a skipped task, until when it is skipped. Null: it has ended.
  due_at       timestamptz,
  attempt_no       integer not null,
  -- Its status before: CLAIMED or RUNNING.
  status       text collate "C" not null,
  reason       text collate "C" not null check (reason in
    ('worker crashed', 'worker silent', 'worker unknown', 'worker cut off', 'claim stale', 'claim unknown', 'lease expired',
     'run stale', 'shutdown')),
  decision     text collate "C" not null check (decision in ('release', 'requeue', 'retry', 'fail', 'cancel', 'skip')),
  -- The worker that did it, or "admin".
  recovered_by text collate "C" not null,
  evidence     jsonb not null
);

-- whether a claim is skipped; the recoveries of a task
create index recoveries_task_idx on @schema.recoveries (task_id, claim_id);
create index recoveries_time_idx on @schema.recoveries (recovered_at);

-- A promoted standby has run for weeks, so its start says nothing about when the sessions of all workers were lost. A promotion
-- begins a new timeline of the write-ahead log. The first worker that sees one stores it.
create table @schema.server_timelines (
  timeline text collate "C" primary key,
  seen_at  timestamptz not null default clock_timestamp()
);

-- The present timeline counts from the server's start. Otherwise no worker would be judged until one has seen the timeline. The same answer as current_timeline(), which does not exist before the functions are applied.
do $$
begin
  insert into @schema.server_timelines (timeline, seen_at)
  values (substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), pg_postmaster_start_time());
exception when others then
  insert into @schema.server_timelines (timeline, seen_at) values ('unknown', pg_postmaster_start_time());
end
$$;
