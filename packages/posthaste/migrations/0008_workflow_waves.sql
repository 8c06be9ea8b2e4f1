-- The waves of 0007, put together; and the end of runs.

-- Whether a run whose nodes have all ended has succeeded.
create function @schema.run_succeeded(run uuid, graph integer, success jsonb, failed_required integer) returns boolean
language plpgsql stable as $$
begin
  if jsonb_typeof(success -> 'cases') is distinct from 'array' then return failed_required = 0; end if;
  return exists (
    select from jsonb_array_elements(success -> 'cases') as one_case
     where not exists (
       select from jsonb_array_elements_text(one_case) as wanted
        where not exists (
          select from (
            select node_no from @schema.graph_nodes where graph_id = graph and id = wanted offset 0
          ) as g
           cross join lateral @schema.node_at(run, g.node_no, -1) as n
           where n.status = 'COMPLETED')));
end
$$;

-- What a run failed with, or was paused by: its first failed node that mattered.
create function @schema.run_error(run uuid, graph integer, success jsonb) returns jsonb
language plpgsql stable as $$
declare
  cases constant jsonb := nullif(success -> 'cases', 'null');
  failed record;
begin
  select g.id, @schema.node_error(run, n.node_no, -1) as error into failed
    from @schema.workflow_nodes as n
   cross join lateral @schema.plan_of(n.graph_id, n.node_no) as g
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
create function @schema.end_nested(ids uuid[], out ended @schema.ended_node[], out items @schema.ended_node[])
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

-- Ends those of these runs that have no open node left.
create function @schema.end_runs(ids uuid[]) returns uuid[]
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
             coalesce(@schema.fill(s.workflow_id, done.output, done.input, null, null), 'null') end,
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

-- Counts items that have ended. Returns the fan-outs that have ended with them.
create function @schema.count_items(items @schema.ended_node[]) returns @schema.ended_node[]
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
create function @schema.count_nodes(ended @schema.ended_node[]) returns uuid[]
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
     cross join lateral @schema.plan_of(e.graph_id, e.node_no) as g
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

-- Tells the followers of nodes that have ended. Returns those that have what they need, and those that never will.
create function @schema.tell_followers(
  told @schema.ended_node[], out ended @schema.ended_node[], out ready @schema.ready_node[]
)
language plpgsql volatile as $$
begin
  with news as materialized (
    select t.workflow_id, t.graph_id, e.to_no,
           (count(*) filter (where t.status = 'COMPLETED' or e.accepts_end))::integer as met,
           (count(*) filter (where t.status <> 'COMPLETED' and not e.accepts_end))::integer as lost
      from unnest(told) as t
     cross join lateral (
       select to_no, accepts_end from @schema.graph_edges
        where graph_id = t.graph_id and from_no = t.node_no offset 0
     ) as e
     group by t.workflow_id, t.graph_id, e.to_no
  ), waiting as materialized (
    select news.met, news.lost, g.needs, g.required, n.place
      from news
     cross join lateral @schema.plan_of(news.graph_id, news.to_no) as g
     cross join lateral @schema.node_at(news.workflow_id, news.to_no, -1) as n
     where n.status = 'PENDING'
  ), judged as (
    update @schema.workflow_nodes as n
       set met = n.met + w.met,
           lost = n.lost + w.lost,
           status = case when w.needs - n.lost - w.lost < w.required then 'SKIPPED'
                         when n.met + w.met >= w.required then 'READY'
                         else 'PENDING' end,
           ended_at = case when w.needs - n.lost - w.lost < w.required then clock_timestamp() end
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

-- Starts nodes that have what they need, each in the way of its kind. In a run that is PAUSED only gates are passed; the
-- others stay READY.
create function @schema.start_nodes(
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
    from unnest(nodes) as r cross join lateral @schema.plan_of(r.graph_id, r.node_no) as g;
  woken := '[]';
  if kinds && array['any', 'quorum', 'when'] then
    ended := @schema.pass_gates(nodes);
  end if;
  if 'task' = any (kinds) then
    select * into part from @schema.send_nodes(nodes);
    ended := ended || part.ended;
    woken := woken || coalesce(part.woken, '[]');
  end if;
  if 'workflow' = any (kinds) then
    ready := ready || @schema.start_nested(nodes);
  end if;
  if 'each' = any (kinds) then
    for fan in
      select r.workflow_id, r.graph_id, r.node_no
        from unnest(nodes) as r
       cross join lateral @schema.plan_of(r.graph_id, r.node_no) as g
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

-- Wave after wave, until nothing follows any more. Returns what its caller has to tell others after the commit: queues in
-- which tasks have landed, and runs that have ended.
--   {"woken": [["default", 100]], "ended": ["…"]}
create function @schema.carry_on(
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
      -- Before the followers are told, so that none of them is sent.
      if pausing is not null then perform @schema.halt_runs(pausing); end if;
      select * into part from @schema.tell_followers(now_ended);
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
