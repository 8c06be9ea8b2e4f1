-- Merges and deletes rows of rollups. A worker may change the table's old rows only through these functions.

-- Merges parts of minutes that are over into one row for each minute, name and queue; minutes that are two hours old into hours; and
-- hours that are eight days old into days. A reader of a month then reads a few hundred rows of each name.
-- Returns how many rows it replaced. Locked rows are left for the next call. Served by rollups_time_idx.
create or replace function @schema.merge_rollups(most integer) returns integer
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  merged integer := 0;
  step record;
  replaced integer;
begin
  for step in
    -- A worker writes its counts every half minute.
    select * from (values
      ('part', 'minute', date_trunc('minute', statement_timestamp() - interval '2 minutes', 'UTC')),
      ('minute', 'hour', date_trunc('hour', statement_timestamp() - interval '2 hours', 'UTC')),
      ('hour', 'day', date_trunc('day', statement_timestamp() - interval '8 days', 'UTC'))
    ) as steps (fine, coarse, before)
  loop
    with old as materialized (
      delete from @schema.rollups
       where ctid = any (array(
         select ctid from @schema.rollups
          where covers = step.fine and starts_at < step.before
          order by starts_at limit most for update skip locked))
      returning date_trunc(step.coarse, starts_at, 'UTC') as start, name, queue, completed, failed, cancelled, expired, retried, wait, run
    ), buckets as (
      select start, name, queue, place, sum(waited) as waited, sum(ran) as ran
        from old cross join lateral unnest(wait, run) with ordinality as bucket (waited, ran, place)
       group by start, name, queue, place
    ), histograms as (
      select start, name, queue, array_agg(coalesce(waited, 0)::integer order by place) as wait,
             array_agg(coalesce(ran, 0)::integer order by place) as run
        from buckets group by start, name, queue
    ), counted as (
      select start, name, queue, count(*) as parts, sum(completed)::integer as completed, sum(failed)::integer as failed,
             sum(cancelled)::integer as cancelled, sum(expired)::integer as expired, sum(retried)::integer as retried
        from old group by start, name, queue
    ), inserted as (
      insert into @schema.rollups
        (starts_at, covers, name, queue, completed, failed, cancelled, expired, retried, wait, run)
      select start, step.coarse, name, queue, completed, failed, cancelled, expired, retried,
             coalesce(histograms.wait, '{}'), coalesce(histograms.run, '{}')
        from counted left join histograms using (start, name, queue)
    )
    select coalesce(sum(parts), 0) into replaced from counted;
    merged := merged + replaced;
  end loop;
  return merged;
end
$$;
revoke all on function @schema.merge_rollups(integer) from public;

-- Served by rollups_time_idx.
create or replace function @schema.prune_rollups(keep_hours integer, most integer) returns integer
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  cutoff constant timestamptz := @schema.retention_cutoff(keep_hours);
  pruned integer;
begin
  delete from @schema.rollups
   where ctid = any (array(
     select ctid from @schema.rollups
      where covers in ('part', 'minute', 'hour', 'day') and starts_at < cutoff limit most for update skip locked));
  get diagnostics pruned = row_count;
  return pruned;
end
$$;
revoke all on function @schema.prune_rollups(integer, integer) from public;
