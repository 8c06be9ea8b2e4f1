-- oldest library: 0.1.0
-- Counts and histograms of ended attempts, for rates and percentiles. A task writes no row here: each session adds up what it
-- ended and inserts rows of its own, so that no two sessions ever update one row. Later rows are merged (functions/rollups.sql).
-- A reader adds up all rows of a span, whatever they cover.

create table @schema.rollups (
  id         bigint generated always as identity primary key,
  -- The beginning of the minute, hour or day (of UTC), by the database's clock.
  starts_at  timestamptz not null,
  -- part: a minute, or a part of one, as one session wrote it. minute, hour, day: merged.
  covers     text collate "C" not null check (covers in ('part', 'minute', 'hour', 'day')),
  -- The worker that counted. Null: merged, or counted by the statement of a recovery, an operator or SQL.
  worker_id  uuid,
  name       text collate "C" not null,
  queue      text collate "C" not null,
  -- Ended tasks by status, and attempts that failed and are retried.
  completed  integer not null default 0,
  failed     integer not null default 0,
  cancelled  integer not null default 0,
  expired    integer not null default 0,
  retried    integer not null default 0,
  -- How many attempts fell into each bucket of domain/histogram.ts, without the empty buckets at the end: the time from due to
  -- started, and from started to ended.
  wait       integer[] not null default '{}',
  run        integer[] not null default '{}'
);

-- read, merge, retention
create index rollups_time_idx on @schema.rollups (covers, starts_at);
