-- Repairs runs whose rows contradict each other. No transaction of ours leaves such a state: this covers manual changes and possible
-- bugs.

-- A page of open runs in id order after `after`, each with its contradictions. Served
-- by workflow_states_open_idx, and for each run by primary keys.
create or replace function @schema.find_stuck_workflows(after uuid, page integer)
returns table (workflow_id uuid, found text[])
language sql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
begin atomic
  select s.workflow_id, array_remove(array[
    case when not exists (select from @schema.workflow_nodes as n where n.workflow_id = s.workflow_id)
         then 'no nodes' end,
    case when exists (
           select from @schema.workflow_nodes as n
            where n.workflow_id = s.workflow_id and n.status = 'ENQUEUED'
              and exists (select from @schema.finished_tasks as f where f.task_id = n.task_id offset 0))
         then 'task ended' end,
    case when exists (
           select from @schema.workflow_nodes as n
            where n.workflow_id = s.workflow_id and n.status = 'ENQUEUED'
              and not exists (select from @schema.submissions as t where t.task_id = n.task_id offset 0))
         then 'task gone' end,
    case when exists (
           select from @schema.workflow_nodes as n
             left join lateral @schema.state_of(n.child_id) as nested on true
            where n.workflow_id = s.workflow_id and n.status = 'RUNNING' and (n.item >= 0 or n.items_left is null)
              and (nested.place is null or nested.ended_at is not null))
         then 'nested run ended' end,
    case when exists (
           select from @schema.workflow_nodes as n
            where n.workflow_id = s.workflow_id and n.item = -1 and n.status = 'RUNNING' and n.items_left is not null
              and not exists (
                select from @schema.workflow_nodes as i
                 where i.workflow_id = n.workflow_id and i.node_no = n.node_no and i.item >= 0
                   and i.status not in ('COMPLETED', 'FAILED', 'SKIPPED')
                offset 0))
         then 'items ended' end,
    case when exists (
           select from @schema.workflow_nodes as n
            where n.workflow_id = s.workflow_id and n.item = -1 and n.status = 'PENDING'
              and not exists (
                select from @schema.graph_edges as e
                 cross join lateral @schema.node_at(n.workflow_id, e.from_no, -1) as source
                 where e.graph_id = n.graph_id and e.to_no = n.node_no
                   and source.status not in ('COMPLETED', 'FAILED', 'SKIPPED')
                offset 0))
         then 'nothing to wait for' end,
    case when (s.status = 'RUNNING' or s.cancel_requested_at is not null) and exists (
           select from @schema.workflow_nodes as n where n.workflow_id = s.workflow_id and n.status = 'READY')
         then 'ready and not sent' end,
    case when (s.status = 'RUNNING' or s.cancel_requested_at is not null) and not exists (
           select from @schema.workflow_nodes as n
            where n.workflow_id = s.workflow_id and n.item = -1 and n.status not in ('COMPLETED', 'FAILED', 'SKIPPED'))
         then 'all nodes ended' end], null)
    from @schema.workflow_states as s
   where s.ended_at is null and s.workflow_id > after
   order by s.workflow_id
   limit page;
end;
revoke all on function @schema.find_stuck_workflows(uuid, integer) from public;

-- Repairs one run, through the path that its ends take when nothing is wrong, and tells workers and waiters. Doing it twice
-- changes nothing more.
create or replace function @schema.repair_workflow(id uuid) returns jsonb
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  notifications jsonb := '{"woken": [], "ended": []}';
  part record;
  step jsonb;
  ended @schema.ended_node[];
  items @schema.ended_node[];
begin
  perform @schema.lock_runs(array[repair_workflow.id]);
  if not exists (select from @schema.workflow_states where workflow_id = repair_workflow.id and ended_at is null) then
    return notifications;
  end if;
  if not exists (select from @schema.workflow_nodes where workflow_id = repair_workflow.id) then
    update @schema.workflow_states
       set status = 'FAILED', ended_at = clock_timestamp(), open_nodes = 0,
           error = '{"code": "WORKFLOW_FAILED", "message": "the run has no nodes: its rows are gone"}'
     where workflow_id = repair_workflow.id;
    select * into part from @schema.end_nested(array[repair_workflow.id]);
    step := @schema.advance(part.ended, part.items, null, null);
    notifications := jsonb_set(step, '{ended}', step -> 'ended' || to_jsonb(repair_workflow.id));
    perform @schema.send_notifications(notifications);
    return notifications;
  end if;
  -- Recounts a fan-out, then a run. Nodes that end below are counted by the usual path.
  update @schema.workflow_nodes as n
     set items_left = counted.open_items, items_failed = counted.failed_items
    from (
      select node_no, (count(*) filter (where status not in ('COMPLETED', 'FAILED', 'SKIPPED')))::integer as open_items,
             (count(*) filter (where status in ('FAILED', 'SKIPPED')))::integer as failed_items
        from @schema.workflow_nodes where workflow_id = repair_workflow.id and item >= 0 group by node_no
    ) as counted
   where n.workflow_id = repair_workflow.id and n.node_no = counted.node_no and n.item = -1 and n.status = 'RUNNING';
  perform @schema.recount_needs(repair_workflow.id);
  perform @schema.recount_run(repair_workflow.id);
  notifications := @schema.merge_notifications(notifications, @schema.advance_workflows(array(
    select n.task_id from @schema.workflow_nodes as n
     where n.workflow_id = repair_workflow.id and n.status = 'ENQUEUED' and n.task_id is not null)));
  -- A task without rows cannot end.
  with gone as (
    update @schema.workflow_nodes as n
       set status = case when n.task_id is null then 'READY' else 'FAILED' end,
           ended_at = case when n.task_id is not null then clock_timestamp() end,
           error = case when n.task_id is not null then
             '{"code": "RESULT_NOT_AVAILABLE", "message": "the task of this node is gone, and its result with it"}'::jsonb end
     where n.workflow_id = repair_workflow.id and n.status = 'ENQUEUED'
       and not exists (select from @schema.submissions as t where t.task_id = n.task_id offset 0)
    returning n.workflow_id, n.graph_id, n.node_no, n.status, n.item
  )
  select array_agg(row(workflow_id, graph_id, node_no, status)::@schema.ended_node)
           filter (where item < 0 and status = 'FAILED'),
         array_agg(row(workflow_id, graph_id, node_no, status)::@schema.ended_node)
           filter (where item >= 0 and status = 'FAILED')
    into ended, items from gone;
  notifications := @schema.merge_notifications(notifications, @schema.advance(ended, items, null, null));
  -- Nested runs that have ended, and those that were never started.
  select * into part from @schema.end_nested(array(
    select n.child_id from @schema.workflow_nodes as n where n.workflow_id = repair_workflow.id and n.status = 'RUNNING'));
  notifications := @schema.merge_notifications(notifications, @schema.advance(part.ended, part.items, null, null));
  update @schema.workflow_nodes as n set status = 'READY', child_id = null
   where n.workflow_id = repair_workflow.id and n.status = 'RUNNING' and (n.item >= 0 or n.items_left is null)
     and not exists (select from @schema.workflow_states as nested where nested.workflow_id = n.child_id offset 0);
  -- Fan-outs without item rows start again; fan-outs without open items end.
  update @schema.workflow_nodes as n set status = 'READY'
   where n.workflow_id = repair_workflow.id and n.item = -1 and n.status = 'RUNNING' and n.items_left > 0
     and not exists (select from @schema.workflow_nodes as i
                      where i.workflow_id = n.workflow_id and i.node_no = n.node_no and i.item >= 0 offset 0);
  with over as (
    update @schema.workflow_nodes as n
       set status = case when n.items_failed = 0 then 'COMPLETED' else 'FAILED' end, ended_at = clock_timestamp()
     where n.workflow_id = repair_workflow.id and n.item = -1 and n.status = 'RUNNING' and n.items_left = 0
    returning n.workflow_id, n.graph_id, n.node_no, n.status
  )
  select array_agg(over::@schema.ended_node) into ended from over;
  notifications := @schema.merge_notifications(notifications, @schema.advance(ended, null, null, null));
  -- Nothing of a run starts that is being cancelled.
  with skipped as (
    update @schema.workflow_nodes as n set status = 'SKIPPED', ended_at = clock_timestamp()
     where n.workflow_id = repair_workflow.id and n.status in ('PENDING', 'READY')
       and exists (select from @schema.workflow_states as s
                    where s.workflow_id = n.workflow_id and s.cancel_requested_at is not null offset 0)
    returning n.workflow_id, n.graph_id, n.node_no, n.status, n.item
  )
  select array_agg(row(workflow_id, graph_id, node_no, status)::@schema.ended_node) filter (where item < 0),
         array_agg(row(workflow_id, graph_id, node_no, status)::@schema.ended_node) filter (where item >= 0)
    into ended, items from skipped;
  notifications := @schema.merge_notifications(notifications, @schema.advance(ended, items, null, null));
  select * into part from @schema.judge_waiting(repair_workflow.id);
  if exists (select from @schema.workflow_states where workflow_id = repair_workflow.id and status = 'RUNNING') then
    step := @schema.release_runs(array[repair_workflow.id], part.ended, part.ready);
  else
    step := @schema.advance(part.ended, null, part.ready, array[repair_workflow.id]);
  end if;
  notifications := @schema.merge_notifications(notifications, step);
  perform @schema.send_notifications(notifications);
  return notifications;
end
$$;
revoke all on function @schema.repair_workflow(uuid) from public;

create or replace function @schema.merge_notifications(one jsonb, other jsonb) returns jsonb
language sql immutable
return case when other is null then one else jsonb_build_object(
  'woken', one -> 'woken' || (other -> 'woken'), 'ended', one -> 'ended' || (other -> 'ended')) end;
