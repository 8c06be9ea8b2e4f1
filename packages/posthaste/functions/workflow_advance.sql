-- How a run advances, in call order: lock, advance, count, resolve the dependents, start ready nodes, end runs.
--
-- All of this runs under the lock of the run's root, in the transaction that ended a task, or started or resumed a run. It
-- goes in waves, each of them a handful of statements for all nodes of the wave: ended nodes are counted for their dependents; a
-- dependent whose needs are met becomes READY, one whose needs can no longer be met is SKIPPED, which is an end again. Counters decide;
-- nothing is recounted. After the last wave, runs without open nodes end, which may end a node one level up.

-- Locks the trees of the runs whose nodes these tasks are. Called before rows of the tasks are locked.
create or replace function @schema.lock_runs_of(task_ids uuid[]) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set plan_cache_mode = force_generic_plan as $$
declare
  ids uuid[];
begin
  select array_agg(distinct workflow_id) into ids
    from @schema.submissions where task_id = any (task_ids) and workflow_id is not null;
  if ids is not null then perform @schema.lock_runs(ids); end if;
end
$$;
revoke all on function @schema.lock_runs_of(uuid[]) from public;

-- Locks the trees of these runs, in id order. Later statements read the state that the last holder committed.
create or replace function @schema.lock_runs(ids uuid[]) returns void
language plpgsql volatile as $$
begin
  perform from @schema.workflow_states
    where workflow_id = any (array(select root_id from @schema.workflows where workflow_id = any (ids)))
    order by workflow_id
      for no key update;
end
$$;

-- Generic plans: for one node, planning the dozen statements of a wave took four times as long as running them, and every
-- call planned them again, since a custom plan for an array of one always looks cheaper than the generic one.

-- Advances the runs of which these tasks, which have ended, are nodes. The caller holds the lock of their roots.
create or replace function @schema.advance_workflows(task_ids uuid[]) returns jsonb
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  ended @schema.ended_node[];
  items @schema.ended_node[];
begin
  -- A fan-out ends many items at once: their run and their node are looked up once for all of them.
  with named as materialized (
    select s.workflow_id, split_part(s.node, '[', 1) as id, array_agg(s.task_id) as tasks,
           array_agg(case when s.node like '%]' then split_part(rtrim(s.node, ']'), '[', 2)::integer else -1 end) as items,
           array_agg(f.status = 'COMPLETED' and f.result is not null) as successes
      from @schema.submissions as s
     cross join lateral @schema.end_of(s.task_id) as f
     where s.task_id = any (task_ids) and s.workflow_id is not null
     group by s.workflow_id, split_part(s.node, '[', 1)
  ), outcome as materialized (
    select n.place, e.is_success
      from named
     cross join lateral @schema.run_of(named.workflow_id) as w
     cross join lateral @schema.node_called(w.graph_id, named.id) as g
     cross join lateral unnest(named.tasks, named.items, named.successes) as e (task_id, item, is_success)
     cross join lateral @schema.node_at(named.workflow_id, g.node_no, e.item) as n
     where n.task_id = e.task_id and n.status = 'ENQUEUED'
  ), changed as (
    update @schema.workflow_nodes as n
       set status = case when outcome.is_success then 'COMPLETED' else 'FAILED' end, ended_at = clock_timestamp()
      from outcome
     where n.ctid = outcome.place
    returning n.workflow_id, n.graph_id, n.node_no, n.status, n.item
  )
  select array_agg(row(workflow_id, graph_id, node_no, status)::@schema.ended_node) filter (where item < 0),
         array_agg(row(workflow_id, graph_id, node_no, status)::@schema.ended_node) filter (where item >= 0)
    into ended, items
    from changed;
  if ended is null and items is null then return null; end if;
  return @schema.advance(ended, items, null, null);
end
$$;
revoke all on function @schema.advance_workflows(uuid[]) from public;

-- The same for callers that cannot notify after their commit: psql, triggers.
create or replace function @schema.advance_and_notify(task_ids uuid[]) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  notifications constant jsonb := @schema.advance_workflows(task_ids);
begin
  if notifications is not null then perform @schema.send_notifications(notifications); end if;
end
$$;
revoke all on function @schema.advance_and_notify(uuid[]) from public;

-- Wakes workers and waiters.
create or replace function @schema.send_notifications(notifications jsonb) returns void
language plpgsql volatile as $$
begin
  perform @schema.notify_unless_full(@schema.queue_channel(lane ->> 0), (lane ->> 1) || ':0')
     from (select distinct lane from jsonb_array_elements(notifications -> 'woken') as lane) as lanes;
  perform @schema.notify_waiters(array(select jsonb_array_elements_text(notifications -> 'ended')::uuid));
end
$$;

-- Starts runs. Those that stand already, by id or by key, are left alone; `started` names the others.
create or replace function @schema.start_workflows(ids uuid[], graphs integer[], inputs jsonb[], keys text[]) returns jsonb
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  new_runs @schema.workflows[];
  ready @schema.ready_node[];
begin
  with started as (
    insert into @schema.workflows (workflow_id, root_id, started_at, graph_id, name, key, input)
    select asked.id, asked.id, clock_timestamp(), asked.graph, g.name, asked.key, asked.input
      from unnest(ids, graphs, inputs, keys) as asked (id, graph, input, key)
     cross join lateral @schema.graph_of(asked.graph) as g
     order by g.name, asked.key, asked.id
    on conflict do nothing
    returning *
  )
  select array_agg(started::@schema.workflows) into new_runs from started;
  if new_runs is null then return '{"started": [], "woken": [], "ended": []}'; end if;
  ready := @schema.open_runs(new_runs);
  return jsonb_build_object('started', (select jsonb_agg(workflow_id) from unnest(new_runs)))
      || @schema.advance(null, null, ready, array(select workflow_id from unnest(new_runs)));
end
$$;
revoke all on function @schema.start_workflows(uuid[], integer[], jsonb[], text[]) from public;

-- Wave after wave, until nothing follows any more. Returns what its caller has to notify of after the commit: queues in
-- which tasks have landed, and runs that have ended.
--   {"woken": [["default", 100]], "ended": ["…"]}
create or replace function @schema.advance(
  ended @schema.ended_node[], items @schema.ended_node[], ready @schema.ready_node[], touched uuid[]
) returns jsonb
language plpgsql volatile as $$
declare
  woken jsonb := '[]';
  finished uuid[] := '{}';
  pausing uuid[];
  now_ended @schema.ended_node[];
  part record;
begin
  loop
    if items is not null then
      ended := ended || @schema.count_items(items);
      items := null;
    end if;
    if ended is not null then
      now_ended := ended;
      ended := null;
      touched := touched || array(select distinct workflow_id from unnest(now_ended));
      pausing := @schema.count_nodes(now_ended);
      -- Before the dependents are resolved, so that none of them is sent.
      if pausing is not null then perform @schema.halt_runs(pausing); end if;
      select * into part from @schema.resolve_dependents(now_ended);
      ended := part.ended;
      ready := ready || part.ready;
    end if;
    if ready is not null then
      select * into part from @schema.start_nodes(ready);
      ready := part.ready;
      ended := ended || part.ended;
      items := part.items;
      woken := woken || part.woken;
    end if;
    continue when ended is not null or items is not null or ready is not null;
    exit when touched is null or cardinality(touched) = 0;
    touched := @schema.end_runs(touched);
    exit when touched is null;
    finished := finished || touched;
    select * into part from @schema.end_nested(touched);
    touched := null;
    ended := part.ended;
    items := part.items;
    exit when ended is null and items is null;
  end loop;
  return jsonb_build_object('woken', woken, 'ended', to_jsonb(finished));
end
$$;

-- Counts items that have ended. Returns the fan-outs that have ended with them.
create or replace function @schema.count_items(items @schema.ended_node[]) returns @schema.ended_node[]
language plpgsql volatile as $$
declare
  ended @schema.ended_node[];
begin
  with tally as materialized (
    select workflow_id, node_no, count(*)::integer as ends,
           (count(*) filter (where status <> 'COMPLETED'))::integer as failures
      from unnest(items) group by workflow_id, node_no
  ), fan as materialized (
    select tally.ends, tally.failures, n.place
      from tally cross join lateral @schema.node_at(tally.workflow_id, tally.node_no, -1) as n
     where n.status = 'RUNNING'
  ), counted as (
    update @schema.workflow_nodes as n
       set items_left = n.items_left - fan.ends,
           items_failed = n.items_failed + fan.failures,
           status = case when n.items_left > fan.ends then n.status
                         when n.items_failed + fan.failures = 0 then 'COMPLETED' else 'FAILED' end,
           ended_at = case when n.items_left <= fan.ends then clock_timestamp() end
      from fan
     where n.ctid = fan.place
    returning n.workflow_id, n.graph_id, n.node_no, n.status
  )
  select array_agg(counted::@schema.ended_node) into ended from counted where status <> 'RUNNING';
  return ended;
end
$$;

-- Counts nodes that have ended, for their runs. Returns the runs that a failure pauses.
create or replace function @schema.count_nodes(ended @schema.ended_node[]) returns uuid[]
language plpgsql volatile as $$
declare
  pausing uuid[];
begin
  with tally as materialized (
    select e.workflow_id, e.graph_id, count(*)::integer as ends,
           (count(*) filter (where e.status = 'COMPLETED' and not g.is_gate))::integer as completed,
           (count(*) filter (where e.status = 'SKIPPED' and not g.is_gate))::integer as skipped,
           (count(*) filter (where e.status = 'FAILED'))::integer as failed,
           (count(*) filter (where e.status = 'FAILED' and not g.is_optional))::integer as failed_required
      from unnest(ended) as e
     cross join lateral @schema.graph_node(e.graph_id, e.node_no) as g
     group by e.workflow_id, e.graph_id
  ), run as materialized (
    select tally.*, s.place from tally cross join lateral @schema.state_of(tally.workflow_id) as s
  ), counted as (
    update @schema.workflow_states as s
       set open_nodes = s.open_nodes - run.ends,
           completed = s.completed + run.completed,
           skipped = s.skipped + run.skipped,
           failed = s.failed + run.failed,
           failed_required = s.failed_required + run.failed_required
      from run
     where s.ctid = run.place
    returning s.workflow_id, run.graph_id,
              run.failed_required > 0 and s.status = 'RUNNING' and s.cancel_requested_at is null as has_failed
  )
  select array_agg(c.workflow_id) into pausing
    from counted as c cross join lateral @schema.graph_of(c.graph_id) as g
   where c.has_failed and g.on_error = 'pause';
  return pausing;
end
$$;

-- Counts ended nodes for their dependents. Returns the dependents whose needs are met, and those whose needs can no longer be met.
create or replace function @schema.resolve_dependents(
  sources @schema.ended_node[], out ended @schema.ended_node[], out ready @schema.ready_node[]
)
language plpgsql volatile as $$
begin
  with counted as materialized (
    select t.workflow_id, t.graph_id, e.to_no,
           (count(*) filter (where t.status = 'COMPLETED' or e.accepts_end))::integer as deps_met,
           (count(*) filter (where t.status <> 'COMPLETED' and not e.accepts_end))::integer as deps_failed
      from unnest(sources) as t
     cross join lateral (
       select to_no, accepts_end from @schema.graph_edges
        where graph_id = t.graph_id and from_no = t.node_no offset 0
     ) as e
     group by t.workflow_id, t.graph_id, e.to_no
  ), waiting as materialized (
    select counted.deps_met, counted.deps_failed, g.needs, g.required, n.place
      from counted
     cross join lateral @schema.graph_node(counted.graph_id, counted.to_no) as g
     cross join lateral @schema.node_at(counted.workflow_id, counted.to_no, -1) as n
     where n.status = 'PENDING'
  ), judged as (
    update @schema.workflow_nodes as n
       set deps_met = n.deps_met + w.deps_met,
           deps_failed = n.deps_failed + w.deps_failed,
           status = case when w.needs - n.deps_failed - w.deps_failed < w.required then 'SKIPPED'
                         when n.deps_met + w.deps_met >= w.required then 'READY'
                         else 'PENDING' end,
           ended_at = case when w.needs - n.deps_failed - w.deps_failed < w.required then clock_timestamp() end
      from waiting as w
     where n.ctid = w.place
    returning n.workflow_id, n.graph_id, n.node_no, n.status
  )
  select array_agg(judged::@schema.ended_node) filter (where status = 'SKIPPED'),
         array_agg(row(workflow_id, graph_id, node_no)::@schema.ready_node) filter (where status = 'READY')
    into ended, ready
    from judged;
end
$$;

-- Starts nodes whose needs are met, by their kind. In a PAUSED run only gates are passed; other nodes stay READY.
create or replace function @schema.start_nodes(
  nodes @schema.ready_node[], out ended @schema.ended_node[], out items @schema.ended_node[],
  out ready @schema.ready_node[], out woken jsonb
)
language plpgsql volatile as $$
declare
  kinds text[];
  fan @schema.ready_node;
  part record;
begin
  select array_agg(distinct g.kind) into kinds
    from unnest(nodes) as r cross join lateral @schema.graph_node(r.graph_id, r.node_no) as g;
  woken := '[]';
  if kinds && array['any', 'quorum', 'when'] then
    ended := @schema.pass_gates(nodes);
  end if;
  if 'task' = any (kinds) then
    select * into part from @schema.send_tasks(nodes, null);
    ended := ended || part.ended;
    woken := woken || coalesce(part.woken, '[]');
  end if;
  if 'workflow' = any (kinds) then
    ready := ready || @schema.start_nested(nodes, null);
  end if;
  if 'each' = any (kinds) then
    for fan in
      select r.workflow_id, r.graph_id, r.node_no
        from unnest(nodes) as r
       cross join lateral @schema.graph_node(r.graph_id, r.node_no) as g
       cross join lateral @schema.state_of(r.workflow_id) as s
       where g.kind = 'each' and s.status = 'RUNNING'
    loop
      select * into part from @schema.fan_out(fan);
      ended := ended || part.ended;
      items := items || part.failed_items;
      ready := ready || part.ready;
      woken := woken || coalesce(part.woken, '[]');
    end loop;
  end if;
end
$$;

-- Decides gates whose needs are met.
create or replace function @schema.pass_gates(ready @schema.ready_node[]) returns @schema.ended_node[]
language plpgsql volatile as $$
declare
  ended @schema.ended_node[];
begin
  with gate as materialized (
    select r.workflow_id, g.kind, g.sources, n.place,
           g.kind <> 'when' or @schema.condition_holds(r.workflow_id, g.condition, w.input) as holds
      from unnest(ready) as r
     cross join lateral @schema.graph_node(r.graph_id, r.node_no) as g
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

-- Sends the tasks of nodes; or, with the array that a fan-out is over, the tasks of its items that are READY or have no row yet.
-- Those that cannot be sent have failed.
create or replace function @schema.send_tasks(
  nodes @schema.ready_node[], elements jsonb,
  out ended @schema.ended_node[], out failed_items @schema.ended_node[], out woken jsonb
)
language plpgsql volatile as $$
declare
  moment constant timestamptz := clock_timestamp();
begin
  with rendered as materialized (
    select r.workflow_id, r.graph_id, r.node_no, whole.retries, n.place, listed.item,
           g.id, g.task_name, g.queue, g.priority, g.options, g.flags,
           g.good_until is not null as is_dated, @schema.uuid_v7() as task_id,
           coalesce(@schema.render(r.workflow_id, g.input, w.input, listed.element, nullif(listed.item, -1)), 'null') as input,
           case when g.good_for_ms is not null or g.good_until is not null then
             @schema.node_deadline(r.workflow_id, g, w.input, listed.element, nullif(listed.item, -1), moment) end as good_until
      from unnest(nodes) as r
     cross join lateral @schema.graph_node(r.graph_id, r.node_no) as g
     cross join lateral @schema.state_of(r.workflow_id) as s
     cross join lateral @schema.run_of(r.workflow_id) as w
     cross join lateral (
       select retries from @schema.workflow_nodes
        where workflow_id = r.workflow_id and node_no = r.node_no and item = -1 limit 1
     ) as whole
     cross join lateral @schema.listed_items(elements) as listed
      left join lateral @schema.node_at(r.workflow_id, r.node_no, listed.item) as n on true
     where g.task_name is not null and (g.kind = 'each') = (listed.item >= 0) and s.status = 'RUNNING'
       and coalesce(n.status, 'READY') = 'READY'
  ), due as not materialized (
    select rendered.*, case when is_dated and good_until is null then 'FAILED' else 'ENQUEUED' end as status,
           case when is_dated and good_until is null then
             @schema.not_started('the value for goodUntil is not an instant') end as error
      from rendered
  ), sent as (
    insert into @schema.submissions
      (task_id, sent_at, good_until, workflow_id, priority, name, queue, node, input, options, flags)
    select task_id, moment, good_until, workflow_id, priority, task_name, queue,
           case when item < 0 then id else id || '[' || item || ']' end, input, options, flags
      from due where error is null
  ), lined as (
    insert into @schema.ready_tasks (task_id, enqueued_at, good_until, priority, queue)
    select task_id, moment, good_until, priority, queue from due where error is null
  ), changed as (
    update @schema.workflow_nodes as n
       set status = due.status, error = due.error, task_id = case when due.error is null then due.task_id end,
           ended_at = case when due.error is not null then moment end
      from due
     where n.ctid = due.place
  ), made as (
    insert into @schema.workflow_nodes (workflow_id, node_no, item, graph_id, retries, status, task_id, ended_at, error)
    select workflow_id, node_no, item, graph_id, retries, status, case when error is null then task_id end,
           case when error is not null then moment end, error
      from due where place is null
  )
  select array_agg(row(workflow_id, graph_id, node_no, status)::@schema.ended_node) filter (where item < 0),
         array_agg(row(workflow_id, graph_id, node_no, status)::@schema.ended_node) filter (where item >= 0),
         (select jsonb_agg(jsonb_build_array(queue, priority))
            from (select distinct queue, priority from due where error is null) as lanes)
    into ended, failed_items, woken
    from due where error is not null;
end
$$;

create or replace function @schema.node_deadline(
  run uuid, node @schema.graph_nodes, run_input jsonb, item jsonb, item_no integer, sent_at timestamptz
) returns timestamptz
language plpgsql stable as $$
begin
  if node.good_for_ms is not null then return sent_at + node.good_for_ms * interval '1 millisecond'; end if;
  if node.good_until is null then return null; end if;
  if jsonb_typeof(node.good_until) = 'string' then return @schema.as_instant(node.good_until #>> '{}'); end if;
  return @schema.as_instant(@schema.placeholder_value(run, node.good_until, run_input, item, item_no) #>> '{}');
end
$$;

create or replace function @schema.not_started(message text) returns jsonb
language sql immutable
return jsonb_build_object('code', 'WORKFLOW_ENQUEUE_FAILED', 'message', message);

-- Starts the runs that these nodes nest; or, with the array that a fan-out is over, those of its items that
-- are READY or have no row yet.
create or replace function @schema.start_nested(nodes @schema.ready_node[], elements jsonb) returns @schema.ready_node[]
language plpgsql volatile as $$
declare
  new_runs @schema.workflows[];
begin
  with due as materialized (
    select r.workflow_id, r.graph_id, r.node_no, whole.retries, listed.item, n.place, g.child_graph_id, c.name, w.root_id,
           @schema.uuid_v7() as child_id,
           coalesce(@schema.render(r.workflow_id, g.input, w.input, listed.element, nullif(listed.item, -1)), 'null') as input
      from unnest(nodes) as r
     cross join lateral @schema.graph_node(r.graph_id, r.node_no) as g
     cross join lateral @schema.graph_of(g.child_graph_id) as c
     cross join lateral @schema.state_of(r.workflow_id) as s
     cross join lateral @schema.run_of(r.workflow_id) as w
     cross join lateral (
       select retries from @schema.workflow_nodes
        where workflow_id = r.workflow_id and node_no = r.node_no and item = -1 limit 1
     ) as whole
     cross join lateral @schema.listed_items(elements) as listed
      left join lateral @schema.node_at(r.workflow_id, r.node_no, listed.item) as n on true
     where (g.kind = 'each') = (listed.item >= 0) and s.status = 'RUNNING' and coalesce(n.status, 'READY') = 'READY'
  ), started as (
    insert into @schema.workflows
      (workflow_id, root_id, parent_id, parent_node, parent_item, started_at, graph_id, name, input)
    select child_id, root_id, workflow_id, node_no, item, clock_timestamp(), child_graph_id, name, input from due
    returning *
  ), changed as (
    update @schema.workflow_nodes as n set status = 'RUNNING', child_id = due.child_id
      from due
     where n.ctid = due.place
  ), made as (
    insert into @schema.workflow_nodes (workflow_id, node_no, item, graph_id, retries, status, child_id)
    select workflow_id, node_no, item, graph_id, retries, 'RUNNING', child_id from due where place is null
  )
  select array_agg(started::@schema.workflows) into new_runs from started;
  return case when new_runs is not null then @schema.open_runs(new_runs) end;
end
$$;

-- Inserts the state rows of new runs and the rows of their nodes. Returns the nodes that need nothing.
create or replace function @schema.open_runs(new_runs @schema.workflows[]) returns @schema.ready_node[]
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

-- Fans out: an item for each element of the array, all at once.
create or replace function @schema.fan_out(
  node @schema.ready_node, out ended @schema.ended_node[], out failed_items @schema.ended_node[],
  out ready @schema.ready_node[], out woken jsonb
)
language plpgsql volatile as $$
declare
  elements jsonb;
  is_list boolean;
  count integer;
begin
  select @schema.placeholder_value(w.workflow_id, g.over, w.input, null, null) into elements
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
  select started.failed_items, started.ready, started.woken into failed_items, ready, woken
    from @schema.start_items(node, elements) as started;
end
$$;

-- Sends the READY items of a fan-out, or starts the runs that they nest.
create or replace function @schema.start_items(
  node @schema.ready_node, elements jsonb,
  out failed_items @schema.ended_node[], out ready @schema.ready_node[], out woken jsonb
)
language plpgsql volatile as $$
begin
  if (select child_graph_id is null from @schema.graph_node(node.graph_id, node.node_no)) then
    select sent.failed_items, sent.woken into failed_items, woken from @schema.send_tasks(array[node], elements) as sent;
  else
    ready := @schema.start_nested(array[node], elements);
  end if;
end
$$;

-- Ends those of these runs that have no open node left.
create or replace function @schema.end_runs(ids uuid[]) returns uuid[]
language plpgsql volatile as $$
declare
  finished uuid[];
begin
  with done as materialized (
    select s.ctid as place, s.cancel_requested_at is not null as is_cancelled, w.graph_id, w.input, g.success, g.output,
           s.cancel_requested_at is null
             and @schema.run_succeeded(s.workflow_id, w.graph_id, g.success, s.failed_required) as is_success
      from @schema.workflow_states as s
     cross join lateral @schema.run_of(s.workflow_id) as w
     cross join lateral @schema.graph_of(w.graph_id) as g
     where s.workflow_id = any (ids) and s.open_nodes = 0 and s.ended_at is null
       and (s.status = 'RUNNING' or s.cancel_requested_at is not null)
  ), changed as (
    update @schema.workflow_states as s
       set status = case when done.is_cancelled then 'CANCELLED' when done.is_success then 'COMPLETED' else 'FAILED' end,
           ended_at = clock_timestamp(),
           result = case when done.is_success then
             coalesce(@schema.render(s.workflow_id, done.output, done.input, null, null), 'null') end,
           error = case
             when done.is_cancelled then '{"code": "WORKFLOW_CANCELLED", "message": "the workflow was cancelled"}'
             when not done.is_success then @schema.run_error(s.workflow_id, done.graph_id, done.success) end
      from done
     where s.ctid = done.place
    returning s.workflow_id
  )
  select array_agg(workflow_id) into finished from changed;
  return finished;
end
$$;

-- Whether a run whose nodes have all ended has succeeded.
create or replace function @schema.run_succeeded(run uuid, graph integer, success jsonb, failed_required integer) returns boolean
language plpgsql stable as $$
begin
  if jsonb_typeof(success -> 'cases') is distinct from 'array' then return failed_required = 0; end if;
  return exists (
    select from jsonb_array_elements(success -> 'cases') as one_case
     where not exists (
       select from jsonb_array_elements_text(one_case) as wanted
        where not exists (
          select from @schema.node_called(graph, wanted) as g
           cross join lateral @schema.node_at(run, g.node_no, -1) as n
           where n.status = 'COMPLETED')));
end
$$;

-- The error that a run failed with, or was paused by: of its first failed node that is not optional.
create or replace function @schema.run_error(run uuid, graph integer, success jsonb) returns jsonb
language plpgsql stable as $$
declare
  cases constant jsonb := nullif(success -> 'cases', 'null');
  failed record;
begin
  select g.id, @schema.node_error(run, n.node_no, -1) as error into failed
    from @schema.workflow_nodes as n
   cross join lateral @schema.graph_node(n.graph_id, n.node_no) as g
   where n.workflow_id = run and n.item = -1 and n.status = 'FAILED'
     and case when cases is null then not g.is_optional
              else exists (select from jsonb_array_elements(cases) as one_case where one_case ? g.id) end
   order by n.node_no
   limit 1;
  if not found then
    return '{"code": "WORKFLOW_SUCCESS_CASE_NOT_MET", "message": "no success case was met, though no node of one failed"}';
  end if;
  return jsonb_build_object(
    'code', 'WORKFLOW_FAILED',
    'message', format('node "%s" failed: %s: %s', failed.id, failed.error ->> 'code', failed.error ->> 'message'),
    'data', jsonb_build_object('node', failed.id, 'error', failed.error));
end
$$;

-- Ends the nodes and items in which these runs, which have ended, are nested.
create or replace function @schema.end_nested(ids uuid[], out ended @schema.ended_node[], out items @schema.ended_node[])
language plpgsql volatile as $$
begin
  with over as materialized (
    select s.status, s.error, w.workflow_id, n.place
      from unnest(ids) as ended (id)
     cross join lateral @schema.state_of(ended.id) as s
     cross join lateral @schema.run_of(ended.id) as w
     cross join lateral @schema.node_at(w.parent_id, w.parent_node, w.parent_item) as n
     where s.ended_at is not null and n.child_id = ended.id and n.status = 'RUNNING'
  ), above as (
    update @schema.workflow_nodes as n
       set status = case when s.status = 'COMPLETED' then 'COMPLETED' else 'FAILED' end,
           ended_at = clock_timestamp(),
           error = case when s.status <> 'COMPLETED' then jsonb_build_object(
             'code', 'SUBWORKFLOW_FAILED',
             'message', format('the nested workflow ended %s: %s', s.status, s.error ->> 'message'),
             'data', jsonb_build_object('workflowId', s.workflow_id, 'status', s.status, 'error', s.error)) end
      from over as s
     where n.ctid = s.place
    returning n.workflow_id, n.graph_id, n.node_no, n.status, n.item
  )
  select array_agg(row(workflow_id, graph_id, node_no, status)::@schema.ended_node) filter (where item < 0),
         array_agg(row(workflow_id, graph_id, node_no, status)::@schema.ended_node) filter (where item >= 0)
    into ended, items
    from above;
end
$$;
