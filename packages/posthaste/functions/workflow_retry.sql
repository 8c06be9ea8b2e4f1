-- Restarts from failed nodes; and recounts, which restarts and repairs share.

-- Starts failed nodes and all their dependents again.
-- {"answer": "retried", …}; or why not: "status" (with `status`, and whether it is being cancelled), "nested" (with its
-- root), "unknown", "not failed" or "under way" (with `node`); or null: there is no such run.
-- Custom plans: with its lists as constants PostgreSQL hashes them. A generic plan compares each of 10,000 nodes with each of
-- 10,000 numbers, 4 times as slow.
create or replace function @schema.retry_workflow(id uuid, nodes text[]) returns jsonb
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  run record;
  wrong record;
  picked integer[];
  following integer[];
  part record;
  notifications jsonb;
begin
  perform @schema.lock_runs(array[retry_workflow.id]);
  select w.graph_id, w.parent_id, w.root_id, s.status, s.cancel_requested_at into run
    from @schema.workflows as w join @schema.workflow_states as s using (workflow_id)
   where w.workflow_id = retry_workflow.id;
  if not found then return null; end if;
  if run.status not in ('PAUSED', 'FAILED') or run.cancel_requested_at is not null then
    return jsonb_build_object('answer', 'status', 'status', run.status, 'isCancelling', run.cancel_requested_at is not null);
  end if;
  if run.status = 'FAILED' and run.parent_id is not null then
    return jsonb_build_object('answer', 'nested', 'root', run.root_id);
  end if;
  select asked.node, n.status into wrong
    from unnest(retry_workflow.nodes) as asked (node)
    left join lateral @schema.node_called(run.graph_id, asked.node) as g on true
    left join lateral @schema.node_at(retry_workflow.id, g.node_no, -1) as n on true
   where n.status is distinct from 'FAILED'
   limit 1;
  if found then
    return jsonb_build_object('answer', case when wrong.status is null then 'unknown' else 'not failed' end,
                              'node', wrong.node, 'status', wrong.status);
  end if;
  picked := array(select distinct g.node_no from unnest(retry_workflow.nodes) as asked (node)
                   cross join lateral @schema.node_called(run.graph_id, asked.node) as g);
  following := array(
    with recursive behind as (
      select e.to_no as node_no from @schema.graph_edges as e
       where e.graph_id = run.graph_id and e.from_no = any (picked)
      union
      select e.to_no from behind cross join lateral (
        select to_no from @schema.graph_edges where graph_id = run.graph_id and from_no = behind.node_no offset 0
      ) as e
    )
    select node_no from behind);
  -- One of them that follows another starts over as its dependent.
  picked := array(select no from unnest(picked) as no where no <> all (following));
  select g.id into wrong
    from @schema.workflow_nodes as n cross join lateral @schema.graph_node(n.graph_id, n.node_no) as g
   where n.workflow_id = retry_workflow.id and n.node_no = any (following) and n.status in ('ENQUEUED', 'RUNNING')
   limit 1;
  if found then return jsonb_build_object('answer', 'under way', 'node', wrong.id); end if;

  insert into @schema.earlier_nodes (workflow_id, node_no, item, retries, task_id, child_id, ended_at, status, error)
  select n.workflow_id, n.node_no, n.item, coalesce(n.retries, 0), n.task_id, n.child_id, n.ended_at, n.status, n.error
    from @schema.workflow_nodes as n
   where n.workflow_id = retry_workflow.id and n.status in ('COMPLETED', 'FAILED', 'SKIPPED')
     and (n.node_no = any (following)
          or (n.node_no = any (picked) and (n.item = -1 or n.status <> 'COMPLETED')));
  delete from @schema.workflow_nodes
   where workflow_id = retry_workflow.id and node_no = any (following) and item >= 0;
  update @schema.workflow_nodes as n
     set status = case when n.node_no = any (following) then 'PENDING'
                       when n.item = -1 and n.items_failed > 0 then 'RUNNING' else 'READY' end,
         items_left = case when n.node_no = any (picked) then n.items_failed end,
         items_failed = case when n.node_no = any (picked) and n.items_failed > 0 then 0 end,
         task_id = null, child_id = null, ended_at = null, error = null, chosen = null, deps_met = 0, deps_failed = 0,
         retries = coalesce(n.retries, 0) + 1
   where n.workflow_id = retry_workflow.id
     and (n.node_no = any (following)
          or (n.node_no = any (picked) and (n.item = -1 or n.status <> 'COMPLETED')));
  perform @schema.recount_needs(retry_workflow.id);
  perform @schema.recount_run(retry_workflow.id);
  update @schema.workflow_states
     set status = 'RUNNING', ended_at = null, paused_at = null, error = null, result = null
   where workflow_id = retry_workflow.id;
  select * into part from @schema.judge_waiting(retry_workflow.id);
  notifications := @schema.release_runs(
    array_append(coalesce(@schema.wake_tree(retry_workflow.id), '{}'), retry_workflow.id), part.ended, part.ready);
  perform @schema.send_notifications(notifications);
  return notifications || '{"answer": "retried"}';
end
$$;
revoke all on function @schema.retry_workflow(uuid, text[]) from public;

-- Recounts the met and failed needs of waiting nodes.
create or replace function @schema.recount_needs(run uuid) returns void
language plpgsql volatile as $$
begin
  with counted as materialized (
      select waiting.ctid as place,
             (count(*) filter (where source.status = 'COMPLETED'
                                  or (e.accepts_end and source.status in ('FAILED', 'SKIPPED'))))::integer as deps_met,
             (count(*) filter (where not e.accepts_end and source.status in ('FAILED', 'SKIPPED')))::integer as deps_failed
        from @schema.workflow_nodes as waiting
       cross join lateral (
         select from_no, accepts_end from @schema.graph_edges
          where graph_id = waiting.graph_id and to_no = waiting.node_no offset 0
       ) as e
       cross join lateral @schema.node_at(run, e.from_no, -1) as source
       where waiting.workflow_id = run and waiting.item = -1 and waiting.status = 'PENDING'
       group by waiting.ctid
  )
  update @schema.workflow_nodes as n
     set deps_met = counted.deps_met, deps_failed = counted.deps_failed
    from counted
   where n.ctid = counted.place and (n.deps_met, n.deps_failed) is distinct from (counted.deps_met, counted.deps_failed);
end
$$;

-- The counters of a run, as its nodes stand now.
create or replace function @schema.recount_run(run uuid) returns void
language plpgsql volatile as $$
begin
  update @schema.workflow_states as s
     set open_nodes = counted.open_nodes, completed = counted.completed, skipped = counted.skipped,
         failed = counted.failed, failed_required = counted.failed_required
    from (
      select (count(*) filter (where n.status not in ('COMPLETED', 'FAILED', 'SKIPPED')))::integer as open_nodes,
             (count(*) filter (where n.status = 'COMPLETED' and not g.is_gate))::integer as completed,
             (count(*) filter (where n.status = 'SKIPPED' and not g.is_gate))::integer as skipped,
             (count(*) filter (where n.status = 'FAILED'))::integer as failed,
             (count(*) filter (where n.status = 'FAILED' and not g.is_optional))::integer as failed_required
        from @schema.workflow_nodes as n
       cross join lateral @schema.graph_node(n.graph_id, n.node_no) as g
       where n.workflow_id = run and n.item = -1
    ) as counted
   where s.workflow_id = run;
end
$$;

-- Waiting nodes that need not wait any more, by their counters.
create or replace function @schema.judge_waiting(
  run uuid, out ended @schema.ended_node[], out ready @schema.ready_node[]
)
language plpgsql volatile as $$
begin
  with waiting as materialized (
    select n.ctid as place, g.needs - n.deps_failed < g.required as is_lost
      from @schema.workflow_nodes as n
     cross join lateral @schema.graph_node(n.graph_id, n.node_no) as g
     where n.workflow_id = run and n.item = -1 and n.status = 'PENDING'
       and (g.needs - n.deps_failed < g.required or n.deps_met >= g.required)
  ), judged as (
    update @schema.workflow_nodes as n
       set status = case when waiting.is_lost then 'SKIPPED' else 'READY' end,
           ended_at = case when waiting.is_lost then clock_timestamp() end
      from waiting
     where n.ctid = waiting.place
    returning n.workflow_id, n.graph_id, n.node_no, n.status
  )
  select array_agg(judged::@schema.ended_node) filter (where status = 'SKIPPED'),
         array_agg(row(workflow_id, graph_id, node_no)::@schema.ready_node) filter (where status = 'READY')
    into ended, ready
    from judged;
end
$$;
