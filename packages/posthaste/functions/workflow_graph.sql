-- How a graph is stored.

-- A placeholder names a node by its id; the engine finds the node by number. Paths are written as PostgreSQL reads them.
-- `places`: {"<id of a node>": {"no": 0, "kind": "task"}, …}
create or replace function @schema.numbered_placeholder(places jsonb, placeholder jsonb) returns jsonb
language sql stable
return placeholder
    || jsonb_build_object('to', array(select jsonb_array_elements_text(placeholder -> 'path'))::text,
                          'in', array(select jsonb_array_elements_text(placeholder -> 'at'))::text)
    || coalesce(places -> (placeholder ->> 'from'), '{}');

create or replace function @schema.numbered_placeholders(places jsonb, source jsonb) returns jsonb
language sql stable
return case when source is null then null else
  jsonb_set(source, '{holes}', coalesce(
    (select jsonb_agg(@schema.numbered_placeholder(places, placeholder))
       from jsonb_array_elements(source -> 'holes') as placeholder), '[]'))
end;

-- The number of a graph, which is stored if it is not yet. Graphs that it nests are stored before it. Nodes are looked up in
-- the document, not in graph_nodes: no plan can make that slow.
create or replace function @schema.store_graph(digest text, graph jsonb) returns integer
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
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
          @schema.numbered_placeholders(places, store_graph.graph -> 'output'), store_graph.graph)
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
         case when jsonb_typeof(node -> 'goodUntil') = 'object' then @schema.numbered_placeholder(places, node -> 'goodUntil')
              else nullif(node -> 'goodUntil', 'null') end,
         @schema.numbered_placeholders(places, node -> 'input'),
         case when node -> 'over' is not null then @schema.numbered_placeholder(places, node -> 'over') end,
         case when node -> 'condition' is not null then
           jsonb_set(node -> 'condition', '{value}', @schema.numbered_placeholder(places, node #> '{condition,value}')) end
    from jsonb_array_elements(nodes) with ordinality as listed (node, nth);
  insert into @schema.graph_edges (graph_id, from_no, to_no, accepts_end)
  select new_id, (places -> (need ->> 'node') -> 'no')::integer, target.nth - 1, need ->> 'accepts' = 'end'
    from jsonb_array_elements(nodes) with ordinality as target (node, nth)
   cross join jsonb_array_elements(target.node -> 'needs') as need;
  return new_id;
end
$$;
revoke all on function @schema.store_graph(text, jsonb) from public;
