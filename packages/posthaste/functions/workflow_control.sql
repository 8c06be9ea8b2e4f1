-- Pausing, resuming and cancelling runs, for handles and operators. Each function locks its runs, unless its comment says otherwise, and
-- notifies workers and waiters itself.

-- {"changed": true | false, …}, or null: there is no such run.
create or replace function @schema.pause_workflow(id uuid) returns jsonb
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
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
revoke all on function @schema.pause_workflow(uuid) from public;

-- Pauses runs and the runs nested in them. The caller holds the lock of their roots. Returns the paused runs.
create or replace function @schema.halt_runs(ids uuid[]) returns uuid[]
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
  if halted is not null then perform @schema.withdraw_pending(halted); end if;
  return halted;
end
$$;

-- Deletes waiting and claimed tasks of these runs, as if they had never been sent. A task that moves during one statement is found by
-- the next.
create or replace function @schema.withdraw_pending(runs uuid[]) returns void
language plpgsql volatile as $$
declare
  queued uuid[];
begin
  loop
    queued := array(select task_id from @schema.workflow_nodes
                     where workflow_id = any (runs) and status = 'ENQUEUED' order by task_id);
    -- In the lock order of workers that start prefetched tasks.
    perform from @schema.active_tasks where task_id = any (queued) and started_at is null order by task_id for update;
    with unlined as (
      delete from @schema.ready_tasks
       where ctid = any (array(select @schema.ready_row(id) from unnest(queued) as id)) and coalesce(attempt_no, 0) = 0
      returning task_id
    ), unclaimed as (
      delete from @schema.active_tasks
       where task_id = any (queued) and started_at is null and coalesce(attempt_no, 0) = 0 and cancel_requested_at is null
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
                       where r.ctid = any (array(select @schema.ready_row(n.task_id))) and coalesce(r.attempt_no, 0) = 0
                      offset 0)
              or exists (select from @schema.active_tasks as a
                          where a.task_id = n.task_id and a.started_at is null and coalesce(a.attempt_no, 0) = 0
                            and a.cancel_requested_at is null
                         offset 0)));
  end loop;
end
$$;

create or replace function @schema.resume_workflow(id uuid) returns jsonb
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  notifications jsonb;
begin
  perform @schema.lock_runs(array[id]);
  if not exists (select from @schema.workflows where workflow_id = id) then return null; end if;
  if not exists (select from @schema.workflow_states
                  where workflow_id = id and status = 'PAUSED' and cancel_requested_at is null) then
    return '{"changed": false, "woken": [], "ended": []}';
  end if;
  notifications := @schema.release_runs(@schema.wake_tree(id), null, null);
  perform @schema.send_notifications(notifications);
  return notifications || '{"changed": true}';
end
$$;
revoke all on function @schema.resume_workflow(uuid) from public;

-- From PAUSED to RUNNING, with all that is nested in it. Returns those that were.
create or replace function @schema.wake_tree(id uuid) returns uuid[]
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

-- Starts all READY nodes of these RUNNING runs, and ends runs without open nodes. Fan-outs are separated before their inputs are read: 10,000 items compared their input, a list of 10,000, with each other's.
create or replace function @schema.release_runs(runs uuid[], ended @schema.ended_node[], ready @schema.ready_node[]) returns jsonb
language plpgsql volatile as $$
declare
  fan record;
  part record;
  items @schema.ended_node[];
  woken jsonb := '[]';
  notifications jsonb;
begin
  for fan in
    select n.workflow_id, n.graph_id, n.node_no, w.input, g.over
      from (
        select distinct workflow_id, graph_id, node_no from @schema.workflow_nodes
         where workflow_id = any (runs) and item >= 0 and status = 'READY'
      ) as n
     cross join lateral @schema.run_of(n.workflow_id) as w
     cross join lateral @schema.graph_node(n.graph_id, n.node_no) as g
  loop
    select * into part from @schema.start_items(
      row(fan.workflow_id, fan.graph_id, fan.node_no)::@schema.ready_node,
      @schema.placeholder_value(fan.workflow_id, fan.over, fan.input, null, null));
    items := items || part.failed_items;
    ready := ready || part.ready;
    woken := woken || coalesce(part.woken, '[]');
  end loop;
  ready := ready || array(
    select row(n.workflow_id, n.graph_id, n.node_no)::@schema.ready_node
      from @schema.workflow_nodes as n
     where n.workflow_id = any (runs) and n.item = -1 and n.status = 'READY');
  ready := array(select distinct r from unnest(ready) as r);
  notifications := @schema.advance(ended, items, case when cardinality(ready) > 0 then ready end, runs);
  return jsonb_set(notifications, '{woken}', notifications -> 'woken' || woken);
end
$$;

-- {"answer": "cancelled" | "requested" | "finished", "tasks": [those that it cancelled], …}, or null: there is no such run.
create or replace function @schema.cancel_workflow(id uuid) returns jsonb
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  runs uuid[];
  tasks uuid[] := '{}';
  queued record;
  ended @schema.ended_node[];
  items @schema.ended_node[];
  notifications jsonb;
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
                             or (select attempt_no from @schema.finished_tasks where task_id = queued.task_id) > 0
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
  notifications := @schema.advance(ended, items, null, runs);
  perform @schema.send_notifications(notifications);
  return notifications || jsonb_build_object(
    'answer', case when notifications -> 'ended' ? id::text then 'cancelled' else 'requested' end, 'tasks', to_jsonb(tasks));
end
$$;
revoke all on function @schema.cancel_workflow(uuid) from public;

-- These runs and all that are nested in them, as far as they have not ended.
create or replace function @schema.open_tree(ids uuid[]) returns uuid[]
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
