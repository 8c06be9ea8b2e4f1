-- Runs that are over are deleted after a while, whole: with the runs nested in them, all nodes, and their tasks.

-- Runs that ended longer ago than that and are nested in no other, oldest first. Served by workflow_states_ended_idx,
-- workflows_parent_idx and primary keys. A tree counts as one, and is never deleted in part; a call deletes no further one
-- once it has so many nodes to delete. Whoever would change a run holds the row of its root: what is locked is left for
-- the next time. Tasks are found by their nodes, because no index leads from a run to its tasks.
--   since: where an earlier call has got to, so that what is left standing is walked over once.
--   reached: where the next one goes on. Null: there is no more.
create function @schema.prune_workflows(
  keep_hours integer, most integer, since timestamptz default '-infinity', out pruned integer, out reached timestamptz
)
language plpgsql volatile set search_path = pg_catalog, pg_temp
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
  -- One that has not ended, whoever has made it so, must not lose what was sent.
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
