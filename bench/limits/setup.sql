-- Tables like ours, with what the common task needs and no more. See ../../packages/posthaste/migrations for the real ones.
drop schema if exists bench_limits cascade;
create schema bench_limits;

create table bench_limits.submissions (
  task_id  uuid primary key,
  sent_at  timestamptz not null,
  priority smallint not null,
  name     text collate "C" not null,
  queue    text collate "C" not null,
  input    json not null
);

create table bench_limits.ready_tasks (
  task_id     uuid not null,
  enqueued_at timestamptz not null,
  priority    smallint not null,
  queue       text collate "C" not null
);
create index on bench_limits.ready_tasks (queue, priority, enqueued_at, task_id);

create table bench_limits.active_tasks (
  task_id     uuid not null,
  claim_id    uuid not null,
  worker_id   uuid not null,
  started_at  timestamptz not null
) with (fillfactor = 50);
create unique index on bench_limits.active_tasks (task_id);

create table bench_limits.finished_tasks (
  task_id     uuid not null,
  claim_id    uuid not null,
  worker_id   uuid not null,
  started_at  timestamptz not null,
  finished_at timestamptz not null,
  result      jsonb
);
create unique index on bench_limits.finished_tasks (task_id);

-- A line of tasks to claim.
create function bench_limits.fill(count integer) returns void language sql as $$
  insert into bench_limits.ready_tasks (task_id, enqueued_at, priority, queue)
  select uuidv7(), clock_timestamp(), 100, 'default' from generate_series(1, count)
$$;
