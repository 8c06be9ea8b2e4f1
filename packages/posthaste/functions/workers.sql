-- The load of capped queues, and how long the server has been up.

-- How many tasks of each queue that were claimed under a cap are under way: running tasks, and with `with_claimed` also claimed tasks
-- whose lease holds. Served by active_tasks_capped_idx, which skips dead rows at an eighth of the pages that the table would read.
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

-- Since when heartbeats could be written without a break of the server: its start or its promotion. Null: no worker has seen this
-- timeline yet, so no worker is judged.
create or replace function @schema.up_since() returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select greatest(pg_postmaster_start_time(), seen_at)
    from @schema.server_timelines
   where timeline = @schema.current_timeline()
$$;
