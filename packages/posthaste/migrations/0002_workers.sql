-- oldest library: 0.1.0
-- What workers say of themselves and of their tasks, and what others did about those that fell silent.

create table @schema.workers (
  worker_id         uuid primary key,
  name              text not null,
  hostname          text not null,
  pid               integer not null,
  version           text not null,
  queues            text[] not null,
  task_names        text[] not null,
  concurrency       integer not null,
  -- dead: others found that its process is gone or silent for too long, and its tasks are taken from it. For good: if it
  -- comes back, it registers anew under another id.
  state             text collate "C" not null check (state in ('running', 'stopping', 'stopped', 'dead')),
  started_at        timestamptz not null default clock_timestamp(),
  last_heartbeat_at timestamptz not null default clock_timestamp(),
  -- The advisory lock that its session holds for as long as its process lives. Null: it has no session of its own
  -- (behind a pooler), and only its heartbeats speak for it.
  liveness_key      integer,
  -- Since when that lock is missing, and what the last heartbeat was then.
  lock_missing_since timestamptz,
  lock_missing_beat timestamptz,
  died_at           timestamptz,
  -- When it last said that it looks after the others.
  leads_at          timestamptz,
  -- How long its event loop had not turned at the last heartbeat.
  loop_blocked_ms   integer not null default 0,
  metadata          jsonb
);

-- The history of heartbeats, for people to read; what is judged is active_tasks.heartbeat_at, which belongs to one claim.
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

-- How each worker was, now and then.
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
  -- Of one core, since the snapshot before.
  cpu_percent   real not null,
  rss_bytes     bigint not null,
  heap_bytes    bigint not null,
  -- The longest that the event loop kept others waiting since the snapshot before.
  loop_lag_ms   integer not null,
  config        jsonb not null
);

-- the states of a worker, latest first
create index worker_states_worker_idx on @schema.worker_states (worker_id, taken_at);
create index worker_states_time_idx on @schema.worker_states (taken_at);

-- Every task that was taken from a worker, or left to it on purpose: why, on what evidence, and what became of it.
create table @schema.recoveries (
  id           bigint generated always as identity primary key,
  task_id      uuid not null,
  claim_id     uuid not null,
  -- Who held it.
  worker_id    uuid not null,
  recovered_at timestamptz not null,
  -- When it is due again; of a task that is left alone, until when. Null: it has ended.
  due_at       timestamptz,
  attempt_no       integer not null,
  -- CLAIMED or RUNNING: what it was.
  status       text collate "C" not null,
  reason       text collate "C" not null check (reason in
    ('worker crashed', 'worker silent', 'worker unknown', 'worker cut off', 'claim stale', 'claim unknown', 'lease expired',
     'run stale', 'shutdown')),
  decision     text collate "C" not null check (decision in ('release', 'requeue', 'retry', 'fail', 'cancel', 'skip')),
  -- The worker that did it, or "admin".
  recovered_by text collate "C" not null,
  evidence     jsonb not null
);

-- is this claim to be left alone; the recoveries of a task
create index recoveries_task_idx on @schema.recoveries (task_id, claim_id);
create index recoveries_time_idx on @schema.recoveries (recovered_at);

-- A promoted standby has run for weeks, so its start says nothing about when the sessions of all workers were lost. A promotion
-- begins a new timeline of the write-ahead log. The first worker that sees one writes it down.
create table @schema.server_timelines (
  timeline text collate "C" primary key,
  seen_at  timestamptz not null default clock_timestamp()
);

-- The server as it is now has been up since its start. Otherwise nobody would be judged until the first worker has seen the
-- timeline. The same answer as current_timeline(), which does not exist before the functions are applied.
do $$
begin
  insert into @schema.server_timelines (timeline, seen_at)
  values (substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), pg_postmaster_start_time());
exception when others then
  insert into @schema.server_timelines (timeline, seen_at) values ('unknown', pg_postmaster_start_time());
end
$$;
