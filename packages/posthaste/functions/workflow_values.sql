-- Values: rendering of templates, and results of nodes.

-- Renders a template: a missing value is left out of an object, and stays null in an array.
-- `source`: {"template": …, "holes": [the placeholders]}
create or replace function @schema.render(run uuid, source jsonb, run_input jsonb, item jsonb, item_no integer) returns jsonb
language plpgsql stable as $$
declare
  placeholders constant jsonb := source -> 'holes';
  whole jsonb := source -> 'template';
  placeholder jsonb;
  place text[];
  value jsonb;
begin
  -- Expressions without a query in them: this runs for every node and every item.
  for nth in 0 .. jsonb_array_length(placeholders) - 1 loop
    placeholder := placeholders -> nth;
    place := (placeholder ->> 'to')::text[];
    value := @schema.placeholder_value(run, placeholder, run_input, item, item_no);
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

-- Null: there is no such value.
create or replace function @schema.placeholder_value(run uuid, placeholder jsonb, run_input jsonb, item jsonb, item_no integer) returns jsonb
language plpgsql stable as $$
declare
  place constant text[] := (placeholder ->> 'in')::text[];
  value jsonb;
begin
  case placeholder ->> 'from'
    when '$input' then value := run_input;
    when '$item' then value := item;
    when '$index' then value := to_jsonb(item_no);
    else
      case placeholder ->> 'part'
        when 'output' then
          if placeholder ->> 'kind' = 'task' then -- nearly always
            select ended.result into value
              from @schema.workflow_nodes as n cross join lateral (
                select result from @schema.finished_tasks where task_id = n.task_id limit 1
              ) as ended
             where n.workflow_id = run and n.node_no = (placeholder -> 'no')::integer and n.item = -1
               and n.status = 'COMPLETED'
             limit 1;
          else
            value := @schema.node_output(run, (placeholder -> 'no')::integer);
          end if;
        when 'result' then
          value := @schema.node_result(run, (placeholder -> 'no')::integer, -1);
        else
          select coalesce(jsonb_agg(@schema.node_result(run, n.node_no, n.item) order by n.item), '[]') into value
            from @schema.workflow_nodes as n
           where n.workflow_id = run and n.node_no = (placeholder -> 'no')::integer and n.item >= 0;
      end case;
  end case;
  return case when cardinality(place) = 0 then value else value #> place end;
end
$$;

-- As JavaScript would take it for true; or, where that is asked for, whether it is that value.
create or replace function @schema.condition_holds(run uuid, condition jsonb, run_input jsonb) returns boolean
language plpgsql stable as $$
declare
  value constant jsonb := @schema.placeholder_value(run, condition -> 'value', run_input, null, null);
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
create or replace function @schema.as_instant(value text) returns timestamptz
language plpgsql stable as $$
begin
  -- As JSON has it. 'tomorrow' is a timestamptz, too, and a day without an hour is one somewhere else.
  return case when value ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$'
              then value::timestamptz end;
exception when data_exception then
  return null;
end
$$;

-- How a node, or one of its items, ended, as a result. Null: it has not.
create or replace function @schema.node_result(run uuid, node integer, which integer) returns jsonb
language plpgsql stable as $$
declare
  found_node record;
  output jsonb;
begin
  select n.status, n.task_id, n.child_id, g.id into found_node
    from @schema.node_at(run, node, which) as n cross join lateral @schema.graph_node(n.graph_id, node) as g;
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

-- The output of a node for its dependents. Null: it is not COMPLETED, or its result is gone.
create or replace function @schema.node_output(run uuid, node integer) returns jsonb
language plpgsql stable as $$
declare
  found_node record;
  output jsonb;
begin
  select n.status, n.child_id, n.chosen, g.kind, ended.result
    into found_node
    from @schema.node_at(run, node, -1) as n
   cross join lateral @schema.graph_node(n.graph_id, node) as g
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

-- The error of a node or of one of its items. Without a stored error, a code describes the status.
create or replace function @schema.node_error(run uuid, node integer, which integer) returns jsonb
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
    when 'CANCELLED' then @schema.cancelled_error()
    when 'EXPIRED' then @schema.expired_error()
    when 'FAILED' then '{"code": "WORKER_CRASHED", "message": "the task failed, and nothing is stored that says why"}'
    else '{"code": "RESULT_NOT_AVAILABLE", "message": "the task has ended, but its result is not stored"}' end;
end
$$;

-- The results of a run's nodes, in the order in which they were written; all of them, or those named. Null: it has not
-- ended. Without gates. Served by the primary key of workflow_nodes.
create or replace function @schema.workflow_results(id uuid, nodes text[] default null) returns table (node text, result jsonb)
language sql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
begin atomic
  select g.id, @schema.node_result(n.workflow_id, n.node_no, -1)
    from @schema.workflow_nodes as n
   cross join lateral @schema.graph_node(n.graph_id, n.node_no) as g
   where n.workflow_id = workflow_results.id and n.item = -1 and not g.is_gate
     and (workflow_results.nodes is null or g.id = any (workflow_results.nodes))
   order by n.node_no;
end;
revoke all on function @schema.workflow_results(uuid, text[]) from public;

-- The results of a fan-out's items, in their order; null in the place of one that has not ended.
create or replace function @schema.workflow_items(id uuid, node text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
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
revoke all on function @schema.workflow_items(uuid, text) from public;
