-- What callers call: tasks have ended, runs are to be started, paused, resumed, cancelled or started over. Each locks what
-- it concerns, unless it says otherwise. Those that operators may call with psql tell workers and waiters by themselves.

-- Generic plans: for one node, planning the dozen statements of a wave took four times as long as running them, and every
-- call planned them anew, since a plan made for an array of one always looks cheaper than one made for any.

-- Advances the runs of which these tasks, which have ended, are nodes. The caller holds the lock of their roots.
create function @schema.advance_workflows(task_ids uuid[]) returns jsonb
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
     cross join lateral (
       select node_no from @schema.graph_nodes where graph_id = w.graph_id and id = split_part(s.node, '[', 1) limit 1
     ) as g
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

-- Starts runs. Those that stand already, by id or by key, are left alone; `started` names the others.
create function @schema.start_workflows(ids uuid[], graphs integer[], inputs jsonb[], keys text[]) returns jsonb
language plpgsql volatile set search_path = pg_catalog, pg_temp
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
      || @schema.carry_on(null, null, ready, array(select workflow_id from unnest(new_runs)));
end
$$;

-- The same for those who cannot tell others after the commit: psql, triggers.
create function @schema.advance_and_tell(task_ids uuid[]) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  news constant jsonb := @schema.advance_workflows(task_ids);
begin
  if news is not null then perform @schema.tell_news(news); end if;
end
$$;

-- Wakes workers and waiters.
create function @schema.tell_news(news jsonb) returns void
language plpgsql volatile as $$
begin
  perform pg_notify(@schema.queue_channel(lane ->> 0), (lane ->> 1) || ':0')
     from (select distinct lane from jsonb_array_elements(news -> 'woken') as lane) as lanes;
  perform @schema.notify_waiters(array(select jsonb_array_elements_text(news -> 'ended')::uuid));
end
$$;

-- These runs and all that are nested in them, as far as they have not ended.
create function @schema.open_tree(ids uuid[]) returns uuid[]
language sql stable
return array(
  with recursive tree as (
    select unnest(ids) as workflow_id
    union
    select w.workflow_id from tree cross join lateral (
      select workflow_id from @schema.workflows where parent_id = tree.workflow_id offset 0
    ) as w
  )
  select tree.workflow_id from tree cross join lateral @schema.state_of(tree.workflow_id) as s
   where s.ended_at is null);

-- Takes tasks of these runs out of the line that have not begun: as if they had never been sent. A task that moves while
-- one statement looks is seen by the next.
create function @schema.take_back(runs uuid[]) returns void
language plpgsql volatile as $$
declare
  queued uuid[];
begin
  loop
    queued := array(select task_id from @schema.workflow_nodes
                     where workflow_id = any (runs) and status = 'ENQUEUED' order by task_id);
    -- In the order of those who start what they have fetched ahead.
    perform from @schema.active_tasks where task_id = any (queued) and started_at is null order by task_id for update;
    with unlined as (
      delete from @schema.ready_tasks
       where ctid = any (array(select @schema.ready_row(id) from unnest(queued) as id)) and coalesce(run_no, 0) = 0
      returning task_id
    ), unclaimed as (
      delete from @schema.active_tasks
       where task_id = any (queued) and started_at is null and coalesce(run_no, 0) = 0 and cancel_requested_at is null
      returning task_id
    ), gone as materialized (
      select task_id from unlined union all select task_id from unclaimed
    ), unsent as (
      delete from @schema.submissions where task_id = any (array(select task_id from gone))
    )
    update @schema.workflow_nodes set status = 'READY', task_id = null
     where workflow_id = any (runs) and status = 'ENQUEUED' and task_id = any (array(select task_id from gone));
    exit when not exists (
      select from @schema.workflow_nodes as n
       where n.workflow_id = any (runs) and n.status = 'ENQUEUED'
         and (exists (select from @schema.ready_tasks as r
                       where r.ctid = any (array(select @schema.ready_row(n.task_id))) and coalesce(r.run_no, 0) = 0
                      offset 0)
              or exists (select from @schema.active_tasks as a
                          where a.task_id = n.task_id and a.started_at is null and coalesce(a.run_no, 0) = 0
                            and a.cancel_requested_at is null
                         offset 0)));
  end loop;
end
$$;

-- Pauses runs, with what is nested in them. Under the lock of their roots. Returns those that it paused.
create function @schema.halt_runs(ids uuid[]) returns uuid[]
language plpgsql volatile as $$
declare
  halted uuid[];
begin
  with changed as (
    update @schema.workflow_states as s
       set status = 'PAUSED', paused_at = clock_timestamp(),
           error = case when s.failed_required > 0 then (
             select @schema.run_error(s.workflow_id, w.graph_id, g.success)
               from @schema.run_of(s.workflow_id) as w cross join lateral @schema.graph_of(w.graph_id) as g) end
     where s.workflow_id = any (@schema.open_tree(ids)) and s.status = 'RUNNING' and s.cancel_requested_at is null
    returning s.workflow_id
  )
  select array_agg(workflow_id) into halted from changed;
  if halted is not null then perform @schema.take_back(halted); end if;
  return halted;
end
$$;

-- Starts everything of these runs, which are RUNNING, that is READY, and ends those that have nothing open.
create function @schema.release_runs(runs uuid[], ended @schema.ended_node[], ready @schema.ready_node[]) returns jsonb
language plpgsql volatile as $$
declare
  fan record;
  part record;
  items @schema.ended_node[];
  woken jsonb := '[]';
  news jsonb;
begin
  for fan in
    select distinct n.workflow_id, n.graph_id, n.node_no, w.input, g.over
      from @schema.workflow_nodes as n
     cross join lateral @schema.run_of(n.workflow_id) as w
     cross join lateral @schema.plan_of(n.graph_id, n.node_no) as g
     where n.workflow_id = any (runs) and n.item >= 0 and n.status = 'READY'
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

-- {"changed": true | false, …}, or null: there is no such run.
create function @schema.pause_workflow(id uuid) returns jsonb
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
  perform @schema.lock_runs(array[id]);
  if not exists (select from @schema.workflows where workflow_id = id) then return null; end if;
  -- Nested ones are paused with it; alone, they are not "it".
  if not exists (select from @schema.workflow_states
                  where workflow_id = id and status = 'RUNNING' and cancel_requested_at is null) then
    return '{"changed": false, "woken": [], "ended": []}';
  end if;
  perform @schema.halt_runs(array[id]);
  return '{"changed": true, "woken": [], "ended": []}';
end
$$;

create function @schema.resume_workflow(id uuid) returns jsonb
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  news jsonb;
begin
  perform @schema.lock_runs(array[id]);
  if not exists (select from @schema.workflows where workflow_id = id) then return null; end if;
  if not exists (select from @schema.workflow_states
                  where workflow_id = id and status = 'PAUSED' and cancel_requested_at is null) then
    return '{"changed": false, "woken": [], "ended": []}';
  end if;
  news := @schema.release_runs(@schema.wake_tree(id), null, null);
  perform @schema.tell_news(news);
  return news || '{"changed": true}';
end
$$;

-- From PAUSED to RUNNING, with all that is nested in it. Returns those that were.
create function @schema.wake_tree(id uuid) returns uuid[]
language plpgsql volatile as $$
declare
  runs uuid[];
begin
  with changed as (
    update @schema.workflow_states
       set status = 'RUNNING', paused_at = null, error = null
     where workflow_id = any (@schema.open_tree(array[id])) and status = 'PAUSED' and cancel_requested_at is null
    returning workflow_id
  )
  select array_agg(workflow_id) into runs from changed;
  return runs;
end
$$;

-- {"answer": "cancelled" | "requested" | "finished", "tasks": [those that it cancelled], …}, or null: there is no such run.
create function @schema.cancel_workflow(id uuid) returns jsonb
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  runs uuid[];
  tasks uuid[] := '{}';
  queued record;
  ended @schema.ended_node[];
  items @schema.ended_node[];
  news jsonb;
begin
  perform @schema.lock_runs(array[id]);
  if not exists (select from @schema.workflows where workflow_id = id) then return null; end if;
  runs := @schema.open_tree(array[id]);
  if not id = any (runs) then
    return '{"answer": "finished", "tasks": [], "woken": [], "ended": []}';
  end if;
  update @schema.workflow_states set cancel_requested_at = clock_timestamp()
   where workflow_id = any (runs) and cancel_requested_at is null;
  for queued in
    select n.workflow_id, n.node_no, n.item, n.task_id
      from @schema.workflow_nodes as n where n.workflow_id = any (runs) and n.status = 'ENQUEUED' order by n.task_id
  loop
    if @schema.cancel_task(queued.task_id) = 'cancelled' then
      tasks := tasks || queued.task_id;
      -- One that waits for its retry has begun, and so has a fan-out; the others are as good as never sent.
      update @schema.workflow_nodes as n
         set status = case when queued.item >= 0
                             or (select run_no from @schema.finished_tasks where task_id = queued.task_id) > 0
                           then 'FAILED' else 'READY' end
       where n.workflow_id = queued.workflow_id and n.node_no = queued.node_no and n.item = queued.item;
    end if;
  end loop;
  with changed as (
    update @schema.workflow_nodes as n
       set status = case n.status when 'FAILED' then 'FAILED' else 'SKIPPED' end, ended_at = clock_timestamp()
     where n.workflow_id = any (runs)
       and (n.status in ('PENDING', 'READY') or (n.status = 'FAILED' and n.ended_at is null))
    returning n.workflow_id, n.graph_id, n.node_no, n.status, n.item
  )
  select array_agg(row(workflow_id, graph_id, node_no, status)::@schema.ended_node) filter (where item < 0),
         array_agg(row(workflow_id, graph_id, node_no, status)::@schema.ended_node) filter (where item >= 0)
    into ended, items
    from changed;
  news := @schema.carry_on(ended, items, null, runs);
  perform @schema.tell_news(news);
  return news || jsonb_build_object(
    'answer', case when news -> 'ended' ? id::text then 'cancelled' else 'requested' end, 'tasks', to_jsonb(tasks));
end
$$;
