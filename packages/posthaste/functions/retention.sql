-- Deletes old records: one function for each category, a batch at a time, oldest first.
--
-- A worker may delete old records only through these functions. Each call is one statement, so that a crash leaves nothing half
-- deleted. Locked rows are left for the next round, so that two workers that prune at once share the work. Old rows are never
-- updated, so a ctid stays valid.
--
-- enable_seqscan and enable_sort are off, because a session keeps the plans it made while the tables were empty. And a
-- submission is looked up in a lateral query with a lock of its own, which cannot become a join: statistics from a moment
-- when all rows were deleted and not yet vacuumed make every join look free (48 s for a batch).

-- Heartbeats that were sent longer ago than that. Served by heartbeats_time_idx.
create or replace function @schema.prune_heartbeats(keep_hours integer, most integer) returns integer
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_sort = off as $$
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
revoke all on function @schema.prune_heartbeats(integer, integer) from public;

-- Samples of workers, silent workers without tasks, and recoveries that no longer protect their task. A worker that returns after its
-- row was deleted registers again. Served by the two indexes on time, and by scans of active_tasks and workers, which are small.
create or replace function @schema.prune_worker_states(keep_hours integer, most integer) returns integer
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_sort = off as $$
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
        where greatest(last_heartbeat_at, died_at) < cutoff
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
revoke all on function @schema.prune_worker_states(integer, integer) from public;

-- Firings of schedules. Served by schedule_firings_time_idx.
create or replace function @schema.prune_schedule_firings(keep_hours integer, most integer) returns integer
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_sort = off as $$
declare
  cutoff constant timestamptz := @schema.retention_cutoff(keep_hours);
  pruned integer;
begin
  delete from @schema.schedule_firings
   where ctid = any (array(
     select ctid from @schema.schedule_firings where fired_at < cutoff order by fired_at limit most for update skip locked));
  get diagnostics pruned = row_count;
  return pruned;
end
$$;
revoke all on function @schema.prune_schedule_firings(integer, integer) from public;

-- Tasks that ended longer ago than they are kept: the hours of their definition, else those of their status. They are found by their
-- ids, which are in the order of sending: a task that ended before the cutoff was
-- sent before it. So two ranges of finished_tasks_id_idx are read: ids from before the cutoff of the shortest hours, and ids from the
-- future, which exist only if a caller chose them or its clock is wrong. Tasks of a workflow stay with their workflow.
--   completed_hours, failed_hours: null means forever. failed_hours are for FAILED, CANCELLED and EXPIRED.
--   start: where an earlier call stopped, so that remaining tasks (sent long ago, ended lately or kept longer) are read once. A call
--   reads ten times the rows that it may delete.
--   reached: where the next call continues. Null: there are no more.
create or replace function @schema.prune_ended_tasks(
  completed_hours integer, failed_hours integer, most integer,
  start uuid default '00000000-0000-0000-0000-000000000000', out pruned integer, out reached uuid
)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_sort = off set enable_hashjoin = off set enable_mergejoin = off
set enable_bitmapscan = off as $$
declare
  cutoff constant timestamptz := @schema.first_retention_cutoff(completed_hours, failed_hours);
  sent_later constant uuid := @schema.first_id_at(cutoff);
  -- Clocks differ a little, and recent tasks need not be read.
  ahead constant uuid := @schema.first_id_at(statement_timestamp() + interval '1 hour');
  is_first constant boolean := start < sent_later;
  walk_from constant uuid := case when is_first then start else greatest(start, ahead) end;
  stretch_end constant uuid := case when is_first then sent_later else '04000000-0000-0000-0000-000000000000' end;
  walk_end uuid;
  places tid[];
  ids uuid[];
begin
  pruned := 0;
  if cutoff is null then return; end if;
  select task_id into walk_end
    from @schema.finished_tasks
   where task_id >= walk_from and task_id < stretch_end
   order by task_id offset 10 * most limit 1;
  -- A kept task is not locked: the lateral query of the lock has the condition.
  select coalesce(array_agg(place), '{}'), coalesce(array_agg(task_id), '{}') into places, ids
    from (
      select ended.ctid as place, ended.task_id
        from @schema.finished_tasks as ended
       cross join lateral (
         select from @schema.submissions
          where task_id = ended.task_id and workflow_id is null
            and ended.finished_at < statement_timestamp() - interval '1 hour' * coalesce(
                  (select keep_hours from @schema.task_definitions where name = submissions.name),
                  case when ended.status is null then completed_hours else failed_hours end)
            for update skip locked
       ) as sent
       where ended.task_id >= walk_from and ended.task_id < coalesce(walk_end, stretch_end)
         and ended.finished_at < cutoff
       order by ended.task_id
       limit most
         for update of ended skip locked
    ) as old;
  perform @schema.forget_tasks(places, ids);
  pruned := cardinality(ids);
  reached := case when pruned = most then ids[most]
                  when walk_end is not null then walk_end
                  when is_first then ahead end;
end
$$;
revoke all on function @schema.prune_ended_tasks(integer, integer, integer, uuid) from public;

-- The same for ids that are in no order, oldest first. Served by finished_tasks_own_id_idx.
create or replace function @schema.prune_ended_tasks_of_own_id(
  completed_hours integer, failed_hours integer, most integer, since timestamptz default '-infinity',
  out pruned integer, out reached timestamptz
)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_sort = off set enable_hashjoin = off set enable_mergejoin = off
set enable_bitmapscan = off as $$
declare
  cutoff constant timestamptz := @schema.first_retention_cutoff(completed_hours, failed_hours);
  latest timestamptz;
  places tid[];
  ids uuid[];
begin
  pruned := 0;
  if cutoff is null then return; end if;
  select coalesce(array_agg(place), '{}'), coalesce(array_agg(task_id), '{}'), max(finished_at) into places, ids, latest
    from (
      select ended.ctid as place, ended.task_id, ended.finished_at
        from @schema.finished_tasks as ended
       cross join lateral (
         select from @schema.submissions
          where task_id = ended.task_id and workflow_id is null
            and ended.finished_at < statement_timestamp() - interval '1 hour' * coalesce(
                  (select keep_hours from @schema.task_definitions where name = submissions.name),
                  case when ended.status is null then completed_hours else failed_hours end)
            for update skip locked
       ) as sent
       where ended.task_id >= '04000000-0000-0000-0000-000000000000'
         and ended.finished_at >= since and ended.finished_at < cutoff
       order by ended.finished_at
       limit most
         for update of ended skip locked
    ) as old;
  perform @schema.forget_tasks(places, ids);
  pruned := cardinality(ids);
  reached := case when pruned = most then latest end;
end
$$;
revoke all on function @schema.prune_ended_tasks_of_own_id(integer, integer, integer, timestamptz) from public;

-- Runs that ended longer ago than that and are nested in no other, oldest first. Served by workflow_states_ended_idx,
-- workflows_parent_idx and primary keys. A tree is deleted as a whole; a call takes no further
-- tree once it has enough nodes to delete. A session that changes a run holds the row of its root: locked trees are left for the
-- next call. Tasks are found by their nodes, because no index leads from a run to its tasks.
--   since: where an earlier call stopped, so that remaining runs are read once.
--   reached: where the next call continues. Null: there are no more.
create or replace function @schema.prune_workflows(
  keep_hours integer, most integer, since timestamptz default '-infinity', out pruned integer, out reached timestamptz
)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_sort = off set enable_hashjoin = off set enable_mergejoin = off
set enable_bitmapscan = off as $$
declare
  cutoff constant timestamptz := @schema.retention_cutoff(keep_hours);
  size bigint := 0;
  old record;
  tree uuid[];
  runs uuid[] := '{}';
  places tid[];
  ids uuid[];
begin
  pruned := 0;
  for old in
    select state.workflow_id, state.ended_at
      from @schema.workflow_states as state
     cross join lateral (
       select from @schema.workflows where workflow_id = state.workflow_id and parent_id is null for update skip locked
     ) as run
     where state.ended_at >= since and state.ended_at < cutoff
     order by state.ended_at
     limit most
       for update of state skip locked
  loop
    tree := array(
      with recursive below as (
        select old.workflow_id as id
        union all
        select w.workflow_id from below cross join lateral (
          select workflow_id from @schema.workflows where parent_id = below.id offset 0
        ) as w
      )
      select id from below);
    runs := runs || tree;
    size := size + (select count(*) from @schema.workflow_nodes where workflow_id = any (tree));
    pruned := pruned + 1;
    if pruned = most or size >= most then
      reached := old.ended_at;
      exit;
    end if;
  end loop;
  if pruned = 0 then return; end if;
  -- A task that has not ended, for whatever reason, must not lose its submission.
  select coalesce(array_agg(ended.ctid), '{}'), coalesce(array_agg(ended.task_id), '{}') into places, ids
    from (
      select task_id from @schema.workflow_nodes where workflow_id = any (runs) and task_id is not null
      union all
      select task_id from @schema.earlier_nodes where workflow_id = any (runs) and task_id is not null
    ) as node
   cross join lateral (
     select ctid, task_id from @schema.finished_tasks where task_id = node.task_id limit 1
   ) as ended;
  perform @schema.forget_tasks(places, ids);
  delete from @schema.earlier_nodes where workflow_id = any (runs);
  delete from @schema.workflow_nodes where workflow_id = any (runs);
  delete from @schema.workflow_states where workflow_id = any (runs);
  delete from @schema.workflows where workflow_id = any (runs);
end
$$;
revoke all on function @schema.prune_workflows(integer, integer, timestamptz) from public;

create or replace function @schema.retention_cutoff(keep_hours integer) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if keep_hours is null or keep_hours < 1 then
    raise exception 'posthaste: what is over is kept for at least 1 hour, got %', coalesce(keep_hours::text, 'null')
      using errcode = 'check_violation';
  end if;
  return statement_timestamp() - keep_hours * interval '1 hour';
end
$$;

-- That of the shortest hours that any task is kept. Null: all are kept forever.
create or replace function @schema.first_retention_cutoff(completed_hours integer, failed_hours integer) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  shortest constant integer := least(completed_hours, failed_hours, (select min(keep_hours) from @schema.task_definitions));
begin
  return case when shortest is not null then @schema.retention_cutoff(shortest) end;
end
$$;

-- The first id of version 7 that could be made at this moment.
create or replace function @schema.first_id_at(moment timestamptz) returns uuid
language sql stable strict parallel safe set search_path = pg_catalog, pg_temp
return rpad(lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0'), 32, '0')::uuid;

-- Deletes tasks that have ended, with everything that is stored of them; their keys are free again.
create or replace function @schema.forget_tasks(places tid[], ids uuid[]) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  delete from @schema.finished_tasks where ctid = any (places);
  delete from @schema.submissions where task_id = any (ids);
  delete from @schema.attempts where task_id = any (ids);
  delete from @schema.progress where task_id = any (ids);
  delete from @schema.task_retries where task_id = any (ids);
end
$$;
