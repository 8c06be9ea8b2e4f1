-- oldest library: 0.1.0
-- Schedules and their firings.

create table @schema.schedules (
  name          text collate "C" primary key,
  -- code: the app's code has it, and writes it at every start. database: made at run time by admin.schedules.upsert.
  owner         text collate "C" not null check (owner in ('code', 'database')),
  -- The task that it sends, or the workflow that it starts.
  task          text collate "C",
  workflow      text collate "C",
  input         json not null,
  -- How the task is sent by a process that does not have its definition: { "queue", "priority", "options", "flags" }.
  submission    jsonb,
  -- The stored graph of the workflow.
  graph_id      integer,
  -- { "kind": "daily", … }. A library fires no kind that it does not know.
  pattern       jsonb not null,
  timezone      text collate "C" not null,
  missed        text collate "C" not null,
  max_missed    integer not null,
  overlap       text collate "C" not null,
  jitter_ms     integer not null,
  start_at      timestamptz,
  end_at        timestamptz,
  created_at    timestamptz not null,
  -- When a process that has it in its code last said so. Null: it belongs to the database.
  listed_at     timestamptz,
  -- The slot that fires next. Never goes back, unless the pattern changes. Null: there is none any more.
  next_slot     timestamptz,
  -- When the scheduler looks at it next: the slot and its jitter, or after a failure the time of the next try.
  due_at        timestamptz,
  -- A slot that waits for the end of the last task or run.
  buffered_slot timestamptz,
  paused_at     timestamptz,
  -- code: it was defined as paused. operator. failures: too many in a row.
  paused_by     text collate "C" check (paused_by in ('code', 'operator', 'failures')),
  -- Firings that failed in a row, and why the last one did.
  failures      integer not null default 0,
  last_error    text,
  -- The last firing.
  last_slot     timestamptz,
  last_fired_at timestamptz,
  last_task_id  uuid,
  last_run_id   uuid,
  constraint schedules_target check (num_nonnulls(task, workflow) = 1),
  constraint schedules_paused check ((paused_at is null) = (paused_by is null))
) with (
  -- Room for new versions of rows that fire often.
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000
);

-- fire: the first slots that are due
create index schedules_due_idx on @schema.schedules (due_at) where paused_at is null and due_at is not null;
-- fire: slots that wait for an end
create index schedules_buffered_idx on @schema.schedules (name) where buffered_slot is not null;

-- A row for each slot that fired or was skipped: no slot fires twice.
create table @schema.schedule_firings (
  schedule   text collate "C" not null,
  slot       timestamptz not null,
  fired_at   timestamptz not null,
  task_id    uuid,
  run_id     uuid,
  -- missed: it passed while no scheduler ran. overlap: the last task or run had not ended. Null: it fired.
  skipped    text collate "C" check (skipped in ('missed', 'overlap')),
  -- Of missed slots only the last one has a row: this is the first one. Null: it stands for itself.
  first_slot timestamptz,
  -- Fired by hand, beside the pattern.
  triggered  boolean not null default false,
  primary key (schedule, slot),
  constraint schedule_firings_outcome check (num_nonnulls(task_id, run_id, skipped) = 1)
);

-- retention, oldest first
create index schedule_firings_time_idx on @schema.schedule_firings (fired_at);
