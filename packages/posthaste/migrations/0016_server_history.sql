-- What a server has gone through, so that nobody is judged by a silence that the server itself caused.

-- A promoted standby has run for weeks, so its start says nothing about when the sessions of all workers were lost. A promotion
-- begins a new timeline of the write-ahead log. The first worker that sees one writes it down.
create table @schema.server_timelines (
  timeline text collate "C" primary key,
  seen_at  timestamptz not null default clock_timestamp()
);

-- The timeline that the server writes: the first eight digits of the name of a file of the log. Servers that only speak like
-- PostgreSQL may have no such files: there, only the start of the server counts.
create function @schema.current_timeline() returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);
exception when others then
  return 'unknown';
end
$$;

-- Since when workers can have been heard here without a break that was the server's: its start, or its promotion. Null: nobody
-- has seen this timeline yet, so nobody is judged.
create function @schema.up_since() returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select greatest(pg_postmaster_start_time(), seen_at)
    from @schema.server_timelines
   where timeline = @schema.current_timeline()
$$;

-- Two more reasons, both stated by the worker that held the claim.
alter table @schema.recoveries
  drop constraint recoveries_reason_check,
  add constraint recoveries_reason_check check (reason in
    ('worker crashed', 'worker silent', 'worker unknown', 'worker cut off', 'claim stale', 'claim unknown', 'lease expired',
     'run stale', 'shutdown'));

insert into @schema.server_timelines (timeline, seen_at) values (@schema.current_timeline(), pg_postmaster_start_time());
