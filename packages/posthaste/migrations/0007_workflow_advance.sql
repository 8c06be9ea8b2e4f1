-- How a run goes on. All of this runs under the lock of the run's root, in the transaction that ended a task, started a
-- run, or let it go on.
--
-- It goes in waves, each of them a handful of statements for all nodes concerned: nodes that have ended are counted and
-- told to their followers; a follower that has what it needs becomes READY, one that can never have it is SKIPPED, which
-- is an end again. Counters say when: nothing is ever recounted. When no node is left to look at, runs without open nodes
-- end, and that may be the end of a node one level up.

-- A node that has just ended, or one of its items.
create type @schema.ended_node as (workflow_id uuid, graph_id integer, node_no integer, status text);
-- A node that has what it needs.
create type @schema.ready_node as (workflow_id uuid, graph_id integer, node_no integer);

-- Locks the trees of these runs, in id order. What is read afterwards, in statements of their own, is as its last holder
-- left it.
create function @schema.lock_runs(ids uuid[]) returns void
language plpgsql volatile as $$
begin
  perform from @schema.workflow_states
    where workflow_id = any (array(select root_id from @schema.workflows where workflow_id = any (ids)))
    order by workflow_id
      for no key update;
end
$$;

-- The same for the runs whose nodes these tasks are. Before anything of the tasks is locked.
create function @schema.lock_runs_of(task_ids uuid[]) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off
set plan_cache_mode = force_generic_plan as $$
declare
  ids uuid[];
begin
  select array_agg(distinct workflow_id) into ids
    from @schema.submissions where task_id = any (task_ids) and workflow_id is not null;
  if ids is not null then perform @schema.lock_runs(ids); end if;
end
$$;

-- Gates that have what they need: decided at once.
create function @schema.pass_gates(ready @schema.ready_node[]) returns @schema.ended_node[]
language plpgsql volatile as $$
declare
  ended @schema.ended_node[];
begin
  with gate as materialized (
    select r.workflow_id, g.kind, g.sources, n.place,
           g.kind <> 'when' or @schema.condition_holds(r.workflow_id, g.condition, w.input) as holds
      from unnest(ready) as r
     cross join lateral @schema.plan_of(r.graph_id, r.node_no) as g
     cross join lateral @schema.run_of(r.workflow_id) as w
     cross join lateral @schema.node_at(r.workflow_id, r.node_no, -1) as n
     where g.is_gate
  ), passed as (
    update @schema.workflow_nodes as n
       set status = case when gate.holds then 'COMPLETED' else 'SKIPPED' end,
           ended_at = clock_timestamp(),
           chosen = case when gate.kind <> 'when' then array(
             select listed.no
               from unnest(gate.sources) with ordinality as listed (no, nth)
              cross join lateral @schema.node_at(gate.workflow_id, listed.no, -1) as source
              where source.status = 'COMPLETED'
              order by listed.nth) end
      from gate
     where n.ctid = gate.place
    returning n.workflow_id, n.graph_id, n.node_no, n.status
  )
  select array_agg(passed::@schema.ended_node) into ended from passed;
  return ended;
end
$$;

-- Sends the tasks of nodes. Those that cannot be sent have failed.
create function @schema.send_nodes(ready @schema.ready_node[], out ended @schema.ended_node[], out woken jsonb)
language plpgsql volatile as $$
declare
  moment constant timestamptz := clock_timestamp();
begin
  with due as materialized (
    select r.workflow_id, n.place, g.id, g.task_name, g.queue, g.priority, g.options, g.flags,
           g.good_until is not null as is_dated, @schema.uuid_v7() as task_id,
           coalesce(@schema.fill(r.workflow_id, g.input, w.input, null, null), 'null') as input,
           @schema.node_deadline(r.workflow_id, g, w.input, null, null, moment) as good_until
      from unnest(ready) as r
     cross join lateral @schema.plan_of(r.graph_id, r.node_no) as g
     cross join lateral @schema.state_of(r.workflow_id) as s
     cross join lateral @schema.run_of(r.workflow_id) as w
     cross join lateral @schema.node_at(r.workflow_id, r.node_no, -1) as n
     where g.kind = 'task' and s.status = 'RUNNING'
  ), sent as (
    insert into @schema.submissions
      (task_id, sent_at, good_until, workflow_id, priority, name, queue, node, input, options, flags)
    select task_id, moment, good_until, workflow_id, priority, task_name, queue, id, input, options, flags
      from due where good_until is not null or not is_dated
  ), lined as (
    insert into @schema.ready_tasks (task_id, enqueued_at, good_until, priority, queue)
    select task_id, moment, good_until, priority, queue
      from due where good_until is not null or not is_dated
  ), changed as (
    update @schema.workflow_nodes as n
       set status = case when due.is_dated and due.good_until is null then 'FAILED' else 'ENQUEUED' end,
           task_id = case when due.is_dated and due.good_until is null then null else due.task_id end,
           ended_at = case when due.is_dated and due.good_until is null then clock_timestamp() end,
           error = case when due.is_dated and due.good_until is null then
             @schema.not_started('the value for goodUntil is not an instant') end
      from due
     where n.ctid = due.place
    returning n.workflow_id, n.graph_id, n.node_no, n.status, due.queue, due.priority
  )
  select array_agg(row(workflow_id, graph_id, node_no, status)::@schema.ended_node) filter (where status = 'FAILED'),
         jsonb_agg(distinct jsonb_build_array(queue, priority)) filter (where status <> 'FAILED')
    into ended, woken
    from changed;
end
$$;

create function @schema.not_started(message text) returns jsonb
language sql immutable
return jsonb_build_object('code', 'WORKFLOW_ENQUEUE_FAILED', 'message', message);

create function @schema.node_deadline(
  run uuid, node @schema.graph_nodes, run_input jsonb, item jsonb, item_no integer, sent_at timestamptz
) returns timestamptz
language plpgsql stable as $$
begin
  if node.good_for_ms is not null then return sent_at + node.good_for_ms * interval '1 millisecond'; end if;
  if node.good_until is null then return null; end if;
  if jsonb_typeof(node.good_until) = 'string' then return @schema.as_instant(node.good_until #>> '{}'); end if;
  return @schema.as_instant(@schema.hole_value(run, node.good_until, run_input, item, item_no) #>> '{}');
end
$$;

-- Runs that are to be: their rows, and the rows of their nodes. Returns the nodes that need nothing.
create function @schema.open_runs(new_runs @schema.workflows[]) returns @schema.ready_node[]
language plpgsql volatile as $$
declare
  ready @schema.ready_node[];
begin
  insert into @schema.workflow_states (workflow_id, status, open_nodes)
  select r.workflow_id, 'RUNNING', g.nodes
    from unnest(new_runs) as r cross join lateral @schema.graph_of(r.graph_id) as g;
  with made as (
    insert into @schema.workflow_nodes (workflow_id, graph_id, node_no, item, status)
    select r.workflow_id, r.graph_id, g.node_no, -1, case when g.needs = 0 then 'READY' else 'PENDING' end
      from unnest(new_runs) as r
     cross join lateral (
       select node_no, needs from @schema.graph_nodes where graph_id = r.graph_id offset 0
     ) as g
    returning workflow_id, graph_id, node_no, status
  )
  select array_agg(row(workflow_id, graph_id, node_no)::@schema.ready_node) into ready
    from made where status = 'READY';
  return ready;
end
$$;

-- Starts the runs that these nodes nest.
create function @schema.start_nested(nodes @schema.ready_node[]) returns @schema.ready_node[]
language plpgsql volatile as $$
declare
  new_runs @schema.workflows[];
begin
  with due as materialized (
    select r.workflow_id, r.node_no, n.place, g.child_graph_id, c.name, w.root_id, @schema.uuid_v7() as child_id,
           coalesce(@schema.fill(r.workflow_id, g.input, w.input, null, null), 'null') as input
      from unnest(nodes) as r
     cross join lateral @schema.plan_of(r.graph_id, r.node_no) as g
     cross join lateral @schema.graph_of(g.child_graph_id) as c
     cross join lateral @schema.state_of(r.workflow_id) as s
     cross join lateral @schema.run_of(r.workflow_id) as w
     cross join lateral @schema.node_at(r.workflow_id, r.node_no, -1) as n
     where g.kind = 'workflow' and s.status = 'RUNNING'
  ), started as (
    insert into @schema.workflows
      (workflow_id, root_id, parent_id, parent_node, parent_item, started_at, graph_id, name, input)
    select child_id, root_id, workflow_id, node_no, -1, clock_timestamp(), child_graph_id, name, input from due
    returning *
  ), changed as (
    update @schema.workflow_nodes as n set status = 'RUNNING', child_id = due.child_id
      from due
     where n.ctid = due.place
  )
  select array_agg(started::@schema.workflows) into new_runs from started;
  return case when new_runs is not null then @schema.open_runs(new_runs) end;
end
$$;

-- Sends the READY items of a fan-out, or starts the runs that they nest. Those that cannot be started have failed.
-- As a join, the planner took each of 1,000 items and compared it with each of 1,000 elements.
create function @schema.send_items(
  node @schema.ready_node, elements jsonb,
  out failed @schema.ended_node[], out ready @schema.ready_node[], out woken jsonb
)
language plpgsql volatile as $$
declare
  moment constant timestamptz := clock_timestamp();
  plan @schema.graph_nodes;
  run @schema.workflows;
  nests boolean;
  new_runs @schema.workflows[];
begin
  select * into plan from @schema.graph_nodes as g where g.graph_id = node.graph_id and g.node_no = node.node_no;
  select * into run from @schema.workflows as w where w.workflow_id = node.workflow_id;
  nests := plan.child_graph_id is not null;
  with filled as materialized (
    select listed.item, n.place, @schema.uuid_v7() as new_id,
           coalesce(@schema.fill(run.workflow_id, plan.input, run.input, listed.element, listed.item), 'null') as input,
           @schema.node_deadline(run.workflow_id, plan, run.input, listed.element, listed.item, moment) as good_until
      from (
        select element, (nth - 1)::integer as item
          from jsonb_array_elements(elements) with ordinality as numbered (element, nth)
      ) as listed
     cross join lateral @schema.node_at(run.workflow_id, node.node_no, listed.item) as n
     where n.status = 'READY'
  ), due as materialized (
    select filled.*, plan.good_until is not null and good_until is null as is_bad from filled
  ), sent as (
    insert into @schema.submissions
      (task_id, sent_at, good_until, workflow_id, priority, name, queue, node, input, options, flags)
    select new_id, moment, good_until, run.workflow_id, plan.priority, plan.task_name, plan.queue,
           plan.id || '[' || item || ']', input, plan.options, plan.flags
      from due where not nests and not is_bad
  ), lined as (
    insert into @schema.ready_tasks (task_id, enqueued_at, good_until, priority, queue)
    select new_id, moment, good_until, plan.priority, plan.queue from due where not nests and not is_bad
  ), started as (
    insert into @schema.workflows
      (workflow_id, root_id, parent_id, parent_node, parent_item, started_at, graph_id, name, input)
    select new_id, run.root_id, run.workflow_id, node.node_no, item, moment, plan.child_graph_id,
           (select name from @schema.workflow_graphs where graph_id = plan.child_graph_id), input
      from due where nests
    returning *
  ), changed as (
    update @schema.workflow_nodes as n
       set status = case when nests then 'RUNNING' when due.is_bad then 'FAILED' else 'ENQUEUED' end,
           task_id = case when not nests and not due.is_bad then due.new_id end,
           child_id = case when nests then due.new_id end,
           ended_at = case when due.is_bad then clock_timestamp() end,
           error = case when due.is_bad then @schema.not_started('the value for goodUntil is not an instant') end
      from due
     where n.ctid = due.place
    returning n.workflow_id, n.graph_id, n.node_no, n.status
  )
  select (select array_agg(started::@schema.workflows) from started),
         (select array_agg(changed::@schema.ended_node) from changed where changed.status = 'FAILED')
    into new_runs, failed;
  if new_runs is not null then ready := @schema.open_runs(new_runs); end if;
  if not nests then woken := jsonb_build_array(jsonb_build_array(plan.queue, plan.priority)); end if;
end
$$;

-- Fans out: an item for each element of the array, all at once.
create function @schema.fan_out(
  node @schema.ready_node, out ended @schema.ended_node[], out failed_items @schema.ended_node[],
  out ready @schema.ready_node[], out woken jsonb
)
language plpgsql volatile as $$
declare
  elements jsonb;
  is_list boolean;
  count integer;
begin
  select @schema.hole_value(w.workflow_id, g.over, w.input, null, null) into elements
    from @schema.graph_nodes as g
   cross join @schema.workflows as w
   where g.graph_id = node.graph_id and g.node_no = node.node_no and w.workflow_id = node.workflow_id;
  is_list := coalesce(jsonb_typeof(elements) = 'array', false);
  count := case when is_list then jsonb_array_length(elements) else 0 end;
  update @schema.workflow_nodes as n
     set status = case when not is_list then 'FAILED' when count = 0 then 'COMPLETED' else 'RUNNING' end,
         items_left = count, items_failed = 0,
         ended_at = case when count = 0 then clock_timestamp() end,
         error = case when not is_list then @schema.not_started(
           'the value to fan out over is not an array: ' || coalesce(jsonb_typeof(elements), 'missing')) end
   where n.workflow_id = node.workflow_id and n.node_no = node.node_no and n.item = -1;
  if count = 0 then
    ended := array[row(node.workflow_id, node.graph_id, node.node_no,
                       case when is_list then 'COMPLETED' else 'FAILED' end)::@schema.ended_node];
    return;
  end if;
  -- As often started over as their node was: what they are stands beside what earlier items were.
  insert into @schema.workflow_nodes (workflow_id, node_no, item, graph_id, status, retries)
  select node.workflow_id, node.node_no, listed.no, node.graph_id, 'READY', n.retries
    from @schema.workflow_nodes as n cross join generate_series(0, count - 1) as listed (no)
   where n.workflow_id = node.workflow_id and n.node_no = node.node_no and n.item = -1;
  select sent.failed, sent.ready, sent.woken into failed_items, ready, woken
    from @schema.send_items(node, elements) as sent;
end
$$;
