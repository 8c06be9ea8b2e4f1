-- Plans that do not depend on how large the tables were when a session planned them.
--
-- A session keeps the plans of the statements in these functions. Made while graph_nodes was empty, the look-up of a node by
-- its name cost as little through the primary key, which means reading the whole graph, as through graph_nodes_id_idx. The
-- first large graph of that session then took over 30 s instead of 0.6 s, because each of its nodes read all others.

-- The one index that can serve a look-up by name. With (id, graph_id) the planner chose between it and the primary key.
create unique index graph_nodes_name_idx on @schema.graph_nodes ((graph_id::text || '/' || id));
drop index @schema.graph_nodes_id_idx;

-- The number of a node, by the name that its tasks carry.
create function @schema.node_called(graph integer, node text) returns table (node_no integer)
language sql stable rows 1
begin atomic
  select g.node_no from @schema.graph_nodes as g
   where g.graph_id::text || '/' || g.id = node_called.graph::text || '/' || node_called.node
   limit 1;
end;

drop function @schema.numbered_holes(integer, jsonb);
drop function @schema.numbered(integer, jsonb);

-- A hole names a node by its id; the engine finds the node by number. Paths are written as PostgreSQL reads them.
-- `places`: {"<id of a node>": {"no": 0, "kind": "task"}, …}
create function @schema.numbered(places jsonb, hole jsonb) returns jsonb
language sql stable
return hole
    || jsonb_build_object('to', array(select jsonb_array_elements_text(hole -> 'path'))::text,
                          'in', array(select jsonb_array_elements_text(hole -> 'at'))::text)
    || coalesce(places -> (hole ->> 'from'), '{}');

create function @schema.numbered_holes(places jsonb, filled jsonb) returns jsonb
language sql stable
return case when filled is null then null else
  jsonb_set(filled, '{holes}', coalesce(
    (select jsonb_agg(@schema.numbered(places, hole)) from jsonb_array_elements(filled -> 'holes') as hole), '[]'))
end;

-- The number of a graph, which is stored if it is not yet. Graphs that it nests are stored before it. Nodes are looked up in
-- the document, not in graph_nodes: no plan can make that slow.
create or replace function @schema.store_graph(digest text, graph jsonb) returns integer
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  new_id integer;
  nodes constant jsonb := store_graph.graph -> 'nodes';
  places jsonb;
begin
  select graph_id into new_id from @schema.workflow_graphs where digest = store_graph.digest;
  if found then return new_id; end if;
  select jsonb_object_agg(node ->> 'id', jsonb_build_object('no', nth - 1, 'kind', node -> 'kind')) into places
    from jsonb_array_elements(nodes) with ordinality as listed (node, nth);
  insert into @schema.workflow_graphs (digest, name, version, nodes, on_error, success, output, graph)
  values (store_graph.digest, store_graph.graph ->> 'name', (store_graph.graph -> 'version')::integer,
          jsonb_array_length(nodes), store_graph.graph ->> 'onError', nullif(store_graph.graph -> 'success', 'null'),
          @schema.numbered_holes(places, store_graph.graph -> 'output'), store_graph.graph)
  on conflict (digest) do nothing
  returning graph_id into new_id;
  if not found then
    select graph_id into new_id from @schema.workflow_graphs where digest = store_graph.digest;
    return new_id;
  end if;
  insert into @schema.graph_nodes
    (graph_id, node_no, id, kind, needs, required, sources, is_gate, is_optional, child_graph_id, task_name, queue,
     priority, options, flags, good_for_ms, good_until, input, over, condition)
  select new_id, nth - 1, node ->> 'id', node ->> 'kind', jsonb_array_length(node -> 'needs'),
         (node -> 'required')::integer,
         array(select (places -> (need ->> 'node') -> 'no')::integer
                 from jsonb_array_elements(node -> 'needs') with ordinality as listed_need (need, place)
                order by place),
         node ->> 'kind' in ('any', 'quorum', 'when'),
         coalesce(store_graph.graph #> '{success,optional}' ? (node ->> 'id'), false),
         (select graph_id from @schema.workflow_graphs where digest = node #>> '{workflow,digest}'),
         node ->> 'task', node ->> 'queue', (node ->> 'priority')::smallint, nullif(node -> 'options', 'null'),
         nullif(node -> 'flags', 'null'), (node ->> 'goodForMs')::float8,
         case when jsonb_typeof(node -> 'goodUntil') = 'object' then @schema.numbered(places, node -> 'goodUntil')
              else nullif(node -> 'goodUntil', 'null') end,
         @schema.numbered_holes(places, node -> 'input'),
         case when node -> 'over' is not null then @schema.numbered(places, node -> 'over') end,
         case when node -> 'condition' is not null then
           jsonb_set(node -> 'condition', '{value}', @schema.numbered(places, node #> '{condition,value}')) end
    from jsonb_array_elements(nodes) with ordinality as listed (node, nth);
  insert into @schema.graph_edges (graph_id, from_no, to_no, accepts_end)
  select new_id, (places -> (need ->> 'node') -> 'no')::integer, target.nth - 1, need ->> 'accepts' = 'end'
    from jsonb_array_elements(nodes) with ordinality as target (node, nth)
   cross join jsonb_array_elements(target.node -> 'needs') as need;
  return new_id;
end
$$;

-- Advances the runs of which these tasks, which have ended, are nodes. The caller holds the lock of their roots.
create or replace function @schema.advance_workflows(task_ids uuid[]) returns jsonb
language plpgsql volatile set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  ended @schema.ended_node[];
  items @schema.ended_node[];
begin
  with said as materialized (
    select n.place, f.status = 'COMPLETED' and f.result is not null as is_success
      from @schema.submissions as s
     cross join lateral @schema.end_of(s.task_id) as f
     cross join lateral @schema.run_of(s.workflow_id) as w
     cross join lateral @schema.node_called(w.graph_id, split_part(s.node, '[', 1)) as g
     cross join lateral @schema.node_at(s.workflow_id, g.node_no,
       case when s.node like '%]' then split_part(rtrim(s.node, ']'), '[', 2)::integer else -1 end) as n
     where s.task_id = any (task_ids) and s.workflow_id is not null
       and n.task_id = s.task_id and n.status = 'ENQUEUED'
  ), changed as (
    update @schema.workflow_nodes as n
       set status = case when said.is_success then 'COMPLETED' else 'FAILED' end, ended_at = clock_timestamp()
      from said
     where n.ctid = said.place
    returning n.workflow_id, n.graph_id, n.node_no, n.status, n.item
  )
  select array_agg(row(workflow_id, graph_id, node_no, status)::@schema.ended_node) filter (where item < 0),
         array_agg(row(workflow_id, graph_id, node_no, status)::@schema.ended_node) filter (where item >= 0)
    into ended, items
    from changed;
  if ended is null and items is null then return null; end if;
  return @schema.carry_on(ended, items, null, null);
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

-- The results of a fan-out's items, in their order; null in the place of one that has not ended.
create or replace function @schema.workflow_items(id uuid, node text) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
begin
  return (
    select jsonb_agg(@schema.node_result(n.workflow_id, n.node_no, n.item) order by n.item)
      from @schema.run_of(workflow_items.id) as run
     cross join lateral @schema.node_called(run.graph_id, workflow_items.node) as g
     cross join lateral (
       select workflow_id, node_no, item from @schema.workflow_nodes
        where workflow_id = run.workflow_id and node_no = g.node_no and item >= 0 offset 0
     ) as n);
end
$$;

-- Starts everything of these runs, which are RUNNING, that is READY, and ends those that have nothing open. Fan-outs are told
-- apart before their runs' inputs are read: 10,000 items compared their input, a list of 10,000, with each other's.
create or replace function @schema.release_runs(runs uuid[], ended @schema.ended_node[], ready @schema.ready_node[]) returns jsonb
language plpgsql volatile as $$
declare
  fan record;
  part record;
  items @schema.ended_node[];
  woken jsonb := '[]';
  news jsonb;
begin
  for fan in
    select n.workflow_id, n.graph_id, n.node_no, w.input, g.over
      from (
        select distinct workflow_id, graph_id, node_no from @schema.workflow_nodes
         where workflow_id = any (runs) and item >= 0 and status = 'READY'
      ) as n
     cross join lateral @schema.run_of(n.workflow_id) as w
     cross join lateral @schema.plan_of(n.graph_id, n.node_no) as g
  loop
    select * into part from @schema.send_items(
      row(fan.workflow_id, fan.graph_id, fan.node_no)::@schema.ready_node,
      @schema.hole_value(fan.workflow_id, fan.over, fan.input, null, null));
    items := items || part.failed;
    ready := ready || part.ready;
    woken := woken || coalesce(part.woken, '[]');
  end loop;
  ready := ready || array(
    select row(n.workflow_id, n.graph_id, n.node_no)::@schema.ready_node
      from @schema.workflow_nodes as n
     where n.workflow_id = any (runs) and n.item = -1 and n.status = 'READY');
  ready := array(select distinct r from unnest(ready) as r);
  news := @schema.carry_on(ended, items, case when cardinality(ready) > 0 then ready end, runs);
  return jsonb_set(news, '{woken}', news -> 'woken' || woken);
end
$$;

-- Starts failed nodes over, with all that follows them.
-- {"answer": "retried", …}; or why not: "status" (with `status`, and whether it is being cancelled), "nested" (with its
-- root), "unknown", "not failed" or "under way" (with `node`); or null: there is no such run.
-- Custom plans: with its lists as constants PostgreSQL hashes them. A generic plan compares each of 10,000 nodes with each of
-- 10,000 numbers, 4 times as slow.
create or replace function @schema.retry_workflow(id uuid, nodes text[]) returns jsonb
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off
set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  run record;
  wrong record;
  picked integer[];
  following integer[];
  part record;
  news jsonb;
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
  -- One of them that follows another starts over as its follower.
  picked := array(select no from unnest(picked) as no where no <> all (following));
  select g.id into wrong
    from @schema.workflow_nodes as n cross join lateral @schema.plan_of(n.graph_id, n.node_no) as g
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
         task_id = null, child_id = null, ended_at = null, error = null, chosen = null, met = 0, lost = 0,
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
  news := @schema.release_runs(
    array_append(coalesce(@schema.wake_tree(retry_workflow.id), '{}'), retry_workflow.id), part.ended, part.ready);
  perform @schema.tell_news(news);
  return news || '{"answer": "retried"}';
end
$$;

-- Tells those who wait for these tasks that they have ended, each on its own channel, 200 ids a message (a message
-- holds 8,000 bytes). To be called in a statement of its own after the commit that ended them: in the same one, a
-- waiter that registers meanwhile and this look-up can miss each other.
-- A row that somebody else is deleting is skipped: its waiter is being told, or is leaving. Who never waits cannot
-- deadlock, and these rows are never updated, so a ctid stays what it was. Without sequential scans: with
-- one, a plan from an emptier moment compared the place of every waiter with the place of every row to delete.
create or replace function @schema.notify_waiters(ids uuid[]) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  told record;
begin
  for told in
    with gone as (
      delete from @schema.waiters
       where ctid = any (array(
         select ctid from @schema.waiters where task_id = any (ids) for update skip locked))
      returning channel, task_id
    ), numbered as (
      select channel, task_id, (row_number() over (partition by channel) - 1) / 200 as message from gone
    )
    select channel, string_agg(task_id::text, ',') as payload from numbered group by channel, message
  loop
    perform pg_notify(told.channel, told.payload);
  end loop;
end
$$;
