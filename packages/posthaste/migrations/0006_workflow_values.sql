-- Graphs and values: how a graph is stored, and what its holes are filled with.
--
-- The functions of workflows are in PL/pgSQL, because what is decided here is decided inside the transaction that ends a
-- task, under a lock: no decision waits for another process while a lock is held, and whoever ends a task (a worker, the
-- reaper, an operator with psql) advances its run by the same rule.

-- One row by its key. Where these tables are empty, a join with them may be planned as a walk through a whole index, since
-- that costs as little as a look-up; sessions keep such plans, and a hundred thousand runs later one step of one run read
-- 875,000 pages. With a limit of their own these cannot become a join: the key is always looked up. For the same reason
-- rows are updated by the place where they were found, which nobody changes without the lock of the run's root, and where
-- a table is joined it is by a query with "offset 0".

create function @schema.plan_of(graph integer, node integer) returns setof @schema.graph_nodes
language sql stable rows 1
begin atomic
  select * from @schema.graph_nodes where graph_id = plan_of.graph and node_no = plan_of.node limit 1;
end;

create function @schema.run_of(run uuid) returns setof @schema.workflows
language sql stable rows 1
begin atomic
  select * from @schema.workflows where workflow_id = run_of.run limit 1;
end;

create function @schema.graph_of(graph integer) returns setof @schema.workflow_graphs
language sql stable rows 1
begin atomic
  select * from @schema.workflow_graphs where graph_id = graph_of.graph limit 1;
end;

create function @schema.state_of(run uuid)
returns table (place tid, status text, ended_at timestamptz, result jsonb, error jsonb)
language sql stable rows 1
begin atomic
  select s.ctid, s.status, s.ended_at, s.result, s.error
    from @schema.workflow_states as s where s.workflow_id = state_of.run limit 1;
end;

-- A node, or with an item's number that item.
create function @schema.node_at(run uuid, node integer, which integer)
returns table (place tid, graph_id integer, status text, task_id uuid, child_id uuid, items_failed integer, chosen integer[],
               error jsonb)
language sql stable rows 1
begin atomic
  select n.ctid, n.graph_id, n.status, n.task_id, n.child_id, n.items_failed, n.chosen, n.error
    from @schema.workflow_nodes as n
   where n.workflow_id = node_at.run and n.node_no = node_at.node and n.item = node_at.which
   limit 1;
end;

create function @schema.end_of(task uuid) returns table (status text, result jsonb, error jsonb)
language sql stable rows 1
begin atomic
  select coalesce(f.status, 'COMPLETED'), f.result, f.error
    from @schema.finished_tasks as f where f.task_id = end_of.task limit 1;
end;

-- Holes name a node by its id; the engine finds it by number. Paths are written as PostgreSQL reads them.
create function @schema.numbered(graph integer, hole jsonb) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp
return hole
    || jsonb_build_object('to', array(select jsonb_array_elements_text(hole -> 'path'))::text,
                          'in', array(select jsonb_array_elements_text(hole -> 'at'))::text)
    || coalesce((select jsonb_build_object('no', node_no, 'kind', kind)
                   from @schema.graph_nodes where graph_id = graph and id = hole ->> 'from'), '{}');

create function @schema.numbered_holes(graph integer, filled jsonb) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp
return case when filled is null then null else
  jsonb_set(filled, '{holes}', coalesce(
    (select jsonb_agg(@schema.numbered(graph, hole)) from jsonb_array_elements(filled -> 'holes') as hole), '[]'))
end;

-- The number of a graph, which is stored if it is not yet. Graphs that it nests are stored before it.
create function @schema.store_graph(digest text, graph jsonb) returns integer
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  new_id integer;
begin
  select graph_id into new_id from @schema.workflow_graphs where digest = store_graph.digest;
  if found then return new_id; end if;
  insert into @schema.workflow_graphs (digest, name, version, nodes, on_error, success, output, graph)
  values (store_graph.digest, store_graph.graph ->> 'name', (store_graph.graph -> 'version')::integer,
          jsonb_array_length(store_graph.graph -> 'nodes'), store_graph.graph ->> 'onError',
          nullif(store_graph.graph -> 'success', 'null'), store_graph.graph -> 'output', store_graph.graph)
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
         (node -> 'required')::integer, '{}', node ->> 'kind' in ('any', 'quorum', 'when'),
         coalesce(store_graph.graph #> '{success,optional}' ? (node ->> 'id'), false),
         (select graph_id from @schema.workflow_graphs where digest = node #>> '{workflow,digest}'),
         node ->> 'task', node ->> 'queue', (node ->> 'priority')::smallint, nullif(node -> 'options', 'null'),
         nullif(node -> 'flags', 'null'), (node ->> 'goodForMs')::float8, nullif(node -> 'goodUntil', 'null'),
         node -> 'input', node -> 'over', node -> 'condition'
    from jsonb_array_elements(store_graph.graph -> 'nodes') with ordinality as listed (node, nth);
  insert into @schema.graph_edges (graph_id, from_no, to_no, accepts_end)
  select new_id, source.node_no, target.nth - 1, need ->> 'accepts' = 'end'
    from jsonb_array_elements(store_graph.graph -> 'nodes') with ordinality as target (node, nth)
   cross join jsonb_array_elements(target.node -> 'needs') as need
   cross join lateral (
     select node_no from @schema.graph_nodes where graph_id = new_id and id = need ->> 'node' limit 1
   ) as source;
  -- Second, because a hole names a node that has to be there to have a number.
  update @schema.graph_nodes as node
     set input = @schema.numbered_holes(new_id, node.input),
         over = @schema.numbered(new_id, node.over),
         condition = case when node.condition is not null then
           jsonb_set(node.condition, '{value}', @schema.numbered(new_id, node.condition -> 'value')) end,
         good_until = case when jsonb_typeof(node.good_until) = 'object' then @schema.numbered(new_id, node.good_until)
                           else node.good_until end,
         sources = array(select source.node_no
                           from jsonb_array_elements(store_graph.graph #> array['nodes', node.node_no::text, 'needs'])
                                with ordinality as need (said, nth)
                          cross join lateral (
                            select node_no from @schema.graph_nodes
                             where graph_id = new_id and id = need.said ->> 'node' limit 1
                          ) as source
                          order by need.nth)
   where node.graph_id = new_id;
  update @schema.workflow_graphs set output = @schema.numbered_holes(new_id, output) where graph_id = new_id;
  return new_id;
end
$$;

-- What a node gives to those who need it. Null: it has none, because it is not COMPLETED or its result is gone.
create function @schema.node_output(run uuid, node integer) returns jsonb
language plpgsql stable as $$
declare
  found_node record;
  output jsonb;
begin
  select n.status, n.child_id, n.chosen, g.kind, ended.result
    into found_node
    from @schema.node_at(run, node, -1) as n
   cross join lateral @schema.plan_of(n.graph_id, node) as g
    left join lateral @schema.end_of(n.task_id) as ended on true;
  if not found or found_node.status <> 'COMPLETED' then return null; end if;
  case found_node.kind
    when 'task' then
      output := found_node.result;
    when 'workflow' then
      select result into output from @schema.workflow_states where workflow_id = found_node.child_id;
    when 'each' then
      select coalesce(jsonb_agg(coalesce(ended.result, nested.result) order by n.item), '[]') into output
        from @schema.workflow_nodes as n
        left join lateral @schema.end_of(n.task_id) as ended on true
        left join lateral @schema.state_of(n.child_id) as nested on true
       where n.workflow_id = run and n.node_no = node and n.item >= 0;
    when 'any' then
      output := @schema.node_output(run, found_node.chosen[1]);
    when 'quorum' then
      select coalesce(jsonb_agg(@schema.node_output(run, source) order by nth), '[]') into output
        from unnest(found_node.chosen) with ordinality as kept (source, nth);
    else
      output := 'null'; -- a condition says what it has to say by its status
  end case;
  return output;
end
$$;

-- What a node, or one of its items, failed with. Where nothing is stored that could say it, the code says what is known.
create function @schema.node_error(run uuid, node integer, which integer) returns jsonb
language plpgsql stable as $$
declare
  failed record;
begin
  select coalesce(n.error, f.error) as error, f.status, n.items_failed, n.task_id
    into failed
    from @schema.node_at(run, node, which) as n left join lateral @schema.end_of(n.task_id) as f on true;
  if failed.error is not null then return failed.error; end if;
  if failed.items_failed > 0 then
    return (
      select jsonb_build_object(
               'code', 'WORKFLOW_ITEMS_FAILED',
               'message', failed.items_failed || ' items failed, the first is item ' || n.item,
               'data', jsonb_build_object('failed', failed.items_failed, 'item', n.item,
                                          'error', @schema.node_error(run, node, n.item)))
        from @schema.workflow_nodes as n
       where n.workflow_id = run and n.node_no = node and n.item >= 0 and n.status <> 'COMPLETED'
       order by n.status = 'SKIPPED', n.item
       limit 1);
  end if;
  return case failed.status
    when 'CANCELLED' then '{"code": "TASK_CANCELLED", "message": "the task was cancelled"}'::jsonb
    when 'EXPIRED' then '{"code": "TASK_EXPIRED", "message": "the task did not start before its goodUntil"}'
    when 'FAILED' then '{"code": "WORKER_CRASHED", "message": "the task failed, and nothing is stored that says why"}'
    else '{"code": "RESULT_NOT_AVAILABLE", "message": "the task has ended, but its result is not stored"}' end;
end
$$;

-- How a node, or one of its items, ended, as a result. Null: it has not.
create function @schema.node_result(run uuid, node integer, which integer) returns jsonb
language plpgsql stable as $$
declare
  found_node record;
  output jsonb;
begin
  select n.status, n.task_id, n.child_id, g.id into found_node
    from @schema.node_at(run, node, which) as n cross join lateral @schema.plan_of(n.graph_id, node) as g;
  case found_node.status
    when 'COMPLETED' then
      if which < 0 then
        output := @schema.node_output(run, node);
      else
        output := coalesce((select result from @schema.finished_tasks where task_id = found_node.task_id),
                           (select result from @schema.workflow_states where workflow_id = found_node.child_id));
      end if;
      if output is null then
        return '{"ok": false, "error":
                 {"code": "RESULT_NOT_AVAILABLE", "message": "the node is COMPLETED, but its result is not stored"}}';
      end if;
      return jsonb_build_object('ok', true, 'value', output);
    when 'FAILED' then
      return jsonb_build_object('ok', false, 'error', @schema.node_error(run, node, which));
    when 'SKIPPED' then
      return jsonb_build_object('ok', false, 'error', jsonb_build_object(
        'code', 'UPSTREAM_SKIPPED',
        'message', format('node "%s" was skipped', found_node.id || case when which < 0 then '' else '[' || which || ']' end),
        'data', jsonb_build_object('node', found_node.id)));
    else
      return null;
  end case;
end
$$;

-- The results of a run's nodes, in the order in which they were written; all of them, or those named. Null: it has not
-- ended. Without gates. Served by the primary key of workflow_nodes.
create function @schema.workflow_results(id uuid, nodes text[] default null) returns table (node text, result jsonb)
language sql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off
begin atomic
  select g.id, @schema.node_result(n.workflow_id, n.node_no, -1)
    from @schema.workflow_nodes as n
   cross join lateral @schema.plan_of(n.graph_id, n.node_no) as g
   where n.workflow_id = workflow_results.id and n.item = -1 and not g.is_gate
     and (workflow_results.nodes is null or g.id = any (workflow_results.nodes))
   order by n.node_no;
end;

-- The results of a fan-out's items, in their order; null in the place of one that has not ended.
create function @schema.workflow_items(id uuid, node text) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
begin
  return (
    select jsonb_agg(@schema.node_result(n.workflow_id, n.node_no, n.item) order by n.item)
      from @schema.run_of(workflow_items.id) as run
     cross join lateral (
       select node_no from @schema.graph_nodes where graph_id = run.graph_id and id = workflow_items.node limit 1
     ) as g
     cross join lateral (
       select workflow_id, node_no, item from @schema.workflow_nodes
        where workflow_id = run.workflow_id and node_no = g.node_no and item >= 0 offset 0
     ) as n);
end
$$;

-- Null: there is no such value.
create function @schema.hole_value(run uuid, hole jsonb, run_input jsonb, item jsonb, item_no integer) returns jsonb
language plpgsql stable as $$
declare
  place constant text[] := (hole ->> 'in')::text[];
  value jsonb;
begin
  case hole ->> 'from'
    when '$input' then value := run_input;
    when '$item' then value := item;
    when '$index' then value := to_jsonb(item_no);
    else
      case hole ->> 'part'
        when 'output' then
          if hole ->> 'kind' = 'task' then -- nearly always
            select ended.result into value
              from @schema.workflow_nodes as n cross join lateral (
                select result from @schema.finished_tasks where task_id = n.task_id limit 1
              ) as ended
             where n.workflow_id = run and n.node_no = (hole -> 'no')::integer and n.item = -1
               and n.status = 'COMPLETED'
             limit 1;
          else
            value := @schema.node_output(run, (hole -> 'no')::integer);
          end if;
        when 'result' then
          value := @schema.node_result(run, (hole -> 'no')::integer, -1);
        else
          select coalesce(jsonb_agg(@schema.node_result(run, n.node_no, n.item) order by n.item), '[]') into value
            from @schema.workflow_nodes as n
           where n.workflow_id = run and n.node_no = (hole -> 'no')::integer and n.item >= 0;
      end case;
  end case;
  return case when cardinality(place) = 0 then value else value #> place end;
end
$$;

-- A template with its holes filled: what is missing is left out of an object, and stays null in an array.
create function @schema.fill(run uuid, filled jsonb, run_input jsonb, item jsonb, item_no integer) returns jsonb
language plpgsql stable as $$
declare
  holes constant jsonb := filled -> 'holes';
  whole jsonb := filled -> 'template';
  hole jsonb;
  place text[];
  value jsonb;
begin
  -- Expressions without a query in them: this runs for every node and every item.
  for nth in 0 .. jsonb_array_length(holes) - 1 loop
    hole := holes -> nth;
    place := (hole ->> 'to')::text[];
    value := @schema.hole_value(run, hole, run_input, item, item_no);
    if cardinality(place) = 0 then
      return value;
    elsif value is not null then
      whole := jsonb_set(whole, place, value);
    elsif jsonb_typeof(whole #> place[:cardinality(place) - 1]) = 'object' then
      whole := whole #- place;
    end if;
  end loop;
  return whole;
end
$$;

-- As JavaScript would take it for true; or, where that is asked for, whether it is that value.
create function @schema.condition_holds(run uuid, condition jsonb, run_input jsonb) returns boolean
language plpgsql stable as $$
declare
  value constant jsonb := @schema.hole_value(run, condition -> 'value', run_input, null, null);
  holds boolean;
begin
  if condition ? 'equals' then
    holds := coalesce(value = condition -> 'equals', false); -- what is missing equals nothing
  else
    holds := value is not null and value not in ('null', 'false', '0', '""');
  end if;
  return holds <> coalesce((condition -> 'negated')::boolean, false);
end
$$;

-- Null: it says no instant.
create function @schema.as_instant(said text) returns timestamptz
language plpgsql stable as $$
begin
  -- As JSON has it. 'tomorrow' is a timestamptz, too, and a day without an hour is one somewhere else.
  return case when said ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$'
              then said::timestamptz end;
exception when data_exception then
  return null;
end
$$;
