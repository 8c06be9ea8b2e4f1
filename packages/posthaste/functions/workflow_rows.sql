-- Rows of workflows, one by its key.
--
-- Where these tables are empty, a join with them may be planned as a walk through a whole index, since that costs as little as
-- a look-up; sessions keep such plans, and a hundred thousand runs later one step of one run read 875,000 pages. With a limit
-- of their own these functions cannot become a join: the key is always looked up. For the same reason rows are updated by
-- their ctid, which cannot change without the lock of the run's root, and tables are joined through a query with "offset 0".
--
-- The functions of workflows are in PL/pgSQL, because they decide inside the transaction that ends a task, under a
-- lock: no decision waits for another process while a lock is held, and workers, the reaper and operators with psql advance runs by
-- the same rules.

create or replace function @schema.graph_node(graph integer, node integer) returns setof @schema.graph_nodes
language sql stable rows 1
begin atomic
  select * from @schema.graph_nodes where graph_id = graph_node.graph and node_no = graph_node.node limit 1;
end;

create or replace function @schema.run_of(run uuid) returns setof @schema.workflows
language sql stable rows 1
begin atomic
  select * from @schema.workflows where workflow_id = run_of.run limit 1;
end;

create or replace function @schema.graph_of(graph integer) returns setof @schema.workflow_graphs
language sql stable rows 1
begin atomic
  select * from @schema.workflow_graphs where graph_id = graph_of.graph limit 1;
end;

create or replace function @schema.state_of(run uuid)
returns table (place tid, status text, ended_at timestamptz, result jsonb, error jsonb)
language sql stable rows 1
begin atomic
  select s.ctid, s.status, s.ended_at, s.result, s.error
    from @schema.workflow_states as s where s.workflow_id = state_of.run limit 1;
end;

-- A node, or with an item's number that item.
create or replace function @schema.node_at(run uuid, node integer, which integer)
returns table (place tid, graph_id integer, status text, task_id uuid, child_id uuid, items_failed integer, chosen integer[],
               error jsonb)
language sql stable rows 1
begin atomic
  select n.ctid, n.graph_id, n.status, n.task_id, n.child_id, n.items_failed, n.chosen, n.error
    from @schema.workflow_nodes as n
   where n.workflow_id = node_at.run and n.node_no = node_at.node and n.item = node_at.which
   limit 1;
end;

-- The number of a node, by the name that its tasks carry.
create or replace function @schema.node_called(graph integer, node text) returns table (node_no integer)
language sql stable rows 1
begin atomic
  select g.node_no from @schema.graph_nodes as g
   where g.graph_id::text || '/' || g.id = node_called.graph::text || '/' || node_called.node
   limit 1;
end;

create or replace function @schema.end_of(task uuid) returns table (status text, result jsonb, error jsonb)
language sql stable rows 1
begin atomic
  select coalesce(f.status, 'COMPLETED'), f.result, f.error
    from @schema.finished_tasks as f where f.task_id = end_of.task limit 1;
end;

-- The elements that a node fans out over, each with the number of its item; without an array the node itself, which is -1. Of
-- the two halves PostgreSQL runs one: their conditions do not depend on a row.
create or replace function @schema.listed_items(elements jsonb) returns table (item integer, element jsonb)
language sql immutable
begin atomic
  select -1, null::jsonb where listed_items.elements is null
  union all
  select (nth - 1)::integer, numbered.element
    from jsonb_array_elements(listed_items.elements) with ordinality as numbered (element, nth)
   where listed_items.elements is not null;
end;
