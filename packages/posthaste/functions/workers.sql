-- What workers ask about all of them together: the load of capped queues, and how long the server has been up.

-- How many tasks of each queue are under way that were claimed under a cap: those that run, and with `with_claimed` also
-- those that are claimed and whose lease holds. Served by active_tasks_capped_idx, which passes over what has ended since
-- the last vacuum cheaper than the table does (eight times fewer pages).
create or replace function @schema.queue_load(with_claimed boolean) returns table (queue text, held integer)
language plpgsql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_indexscan = on as $$
#variable_conflict use_column
begin
  return query
    select capped_queue, count(*)::integer
      from @schema.active_tasks
     where capped_queue is not null
       and (started_at is not null or (with_claimed and claim_expires_at > statement_timestamp()))
     group by capped_queue;
end
$$;

-- The timeline that the server writes: the first eight digits of the name of a file of the log. Servers that only speak like
-- PostgreSQL may have no such files: there, only the start of the server counts.
create or replace function @schema.current_timeline() returns text
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
create or replace function @schema.up_since() returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select greatest(pg_postmaster_start_time(), seen_at)
    from @schema.server_timelines
   where timeline = @schema.current_timeline()
$$;
