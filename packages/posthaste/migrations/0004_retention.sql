-- What is over is deleted after a while: one function for each category, a batch at a time, oldest first.
--
-- They run with the rights of their owner where roles are set up (`posthaste roles`): a worker prunes what is old, and
-- can delete nothing else. Each is one statement, so that a crash leaves nothing half deleted. Rows that somebody has
-- locked are left for the next round: who never waits holds up nobody, and two that prune at once share the work. None of
-- the rows is ever updated once it is old, so a ctid stays what it was.
--
-- enable_seqscan and enable_sort are off, because a session keeps the plans it made while the tables were empty.

create function @schema.retention_cutoff(keep_hours integer) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if keep_hours is null or keep_hours < 1 then
    raise exception 'posthaste: what is over is kept for at least 1 hour, got %', coalesce(keep_hours::text, 'null')
      using errcode = 'check_violation';
  end if;
  return statement_timestamp() - keep_hours * interval '1 hour';
end
$$;

-- Heartbeats that were sent longer ago than that. Served by heartbeats_time_idx.
create function @schema.prune_heartbeats(keep_hours integer, most integer) returns integer
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_sort = off as $$
declare
  cutoff constant timestamptz := @schema.retention_cutoff(keep_hours);
  pruned integer;
begin
  delete from @schema.heartbeats
   where ctid = any (array(
     select ctid from @schema.heartbeats where sent_at < cutoff order by sent_at limit most for update skip locked));
  get diagnostics pruned = row_count;
  return pruned;
end
$$;

-- States of workers, workers that are gone for good and hold nothing, and recoveries, except where one still keeps others
-- from recovering its task. Served by the three indexes on time, and by a look at what is under way and at the registry,
-- which are small.
create function @schema.prune_worker_states(keep_hours integer, most integer) returns integer
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_sort = off as $$
declare
  cutoff constant timestamptz := @schema.retention_cutoff(keep_hours);
  pruned integer;
begin
  with states as (
    delete from @schema.worker_states
     where ctid = any (array(
       select ctid from @schema.worker_states
        where taken_at < cutoff order by taken_at limit most for update skip locked))
    returning 1
  ), gone as (
    delete from @schema.workers
     where worker_id = any (array(
       select worker_id from @schema.workers
        where state in ('stopped', 'dead') and coalesce(died_at, last_heartbeat_at) < cutoff
          and worker_id <> all (array(select distinct worker_id from @schema.active_tasks))
        order by last_heartbeat_at limit most for update skip locked))
    returning 1
  ), taken as (
    delete from @schema.recoveries
     where ctid = any (array(
       select ctid from @schema.recoveries
        where recovered_at < cutoff and not (decision = 'skip' and due_at > statement_timestamp())
        order by recovered_at limit most for update skip locked))
    returning 1
  )
  select count(*) into pruned
    from (select from states union all select from gone union all select from taken) as each;
  return pruned;
end
$$;

-- Tasks that ended longer ago than that, with everything that is stored of them; their keys are free again. Tasks of a
-- workflow stay with their workflow. Served by finished_tasks_time_idx and the keys of the other tables.
--   since: where an earlier batch of the same round has got to, so that what is left standing is walked over once.
create function @schema.prune_tasks(
  keep_hours integer, most integer, since timestamptz default '-infinity', out pruned integer, out reached timestamptz
)
language plpgsql volatile set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_sort = off set enable_hashjoin = off set enable_mergejoin = off
set enable_bitmapscan = off as $$
declare
  cutoff constant timestamptz := @schema.retention_cutoff(keep_hours);
begin
  with old as materialized (
    select ended.ctid as place, ended.task_id, ended.finished_at
      from @schema.finished_tasks as ended
      join @schema.submissions as sent on sent.task_id = ended.task_id
     where ended.finished_at >= since and ended.finished_at < cutoff and sent.workflow_id is null
     order by ended.finished_at
     limit most
       for update of ended, sent skip locked
  ), ended as (
    delete from @schema.finished_tasks where ctid = any (array(select place from old))
  ), sent as (
    delete from @schema.submissions where task_id = any (array(select task_id from old))
  ), tried as (
    delete from @schema.attempts where task_id = any (array(select task_id from old))
  ), said as (
    delete from @schema.progress where task_id = any (array(select task_id from old))
  )
  select count(*), max(finished_at) into pruned, reached from old;
end
$$;
