-- What operators do to tasks, and the record of it.
--
-- Each function that changes tasks takes the number of an action, made by begin_action(), and adds the tasks that it changed to
-- that row, in its own transaction. So the record is never behind. The functions run with the rights of their owner: an operator
-- need not be able to delete an end or to write a result.

-- Writes down what is about to be done, before it is done. session_user is the role that logged in, also inside a function that
-- runs with its owner's rights.
create or replace function @schema.begin_action(
  action text, target text default null, filter jsonb default '{}', acted_by text default null,
  out id bigint, out begun_at timestamptz
)
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  insert into @schema.operator_actions (actor, acted_by, action, target, filter)
  values (session_user, begin_action.acted_by, begin_action.action, begin_action.target, begin_action.filter)
  returning operator_actions.id, operator_actions.begun_at;
end;
revoke all on function @schema.begin_action(text, text, jsonb, text) from public;

-- Counts what has been done so far and returns the sum; with `is_over`, the action has ended. A role can only go on with its own
-- actions. A call that ends an action may be repeated, because its confirmation was lost: it counts once.
create or replace function @schema.count_action(id bigint, more integer, is_over boolean) returns integer
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  total integer;
begin
  update @schema.operator_actions as done
     set affected = done.affected + more, ended_at = case when is_over then clock_timestamp() end
   where done.id = count_action.id and done.actor = session_user and done.ended_at is null
  returning affected into total;
  if not found and is_over then
    select affected into total from @schema.operator_actions as done
     where done.id = count_action.id and done.actor = session_user;
  end if;
  if not found then
    raise exception 'posthaste: action % is not under way, or not one of role %', count_action.id, session_user
      using errcode = 'check_violation', hint = 'begin_action() begins one.';
  end if;
  return total;
end
$$;
revoke all on function @schema.count_action(bigint, integer, boolean) from public;

-- Runs a task again that has FAILED, was CANCELLED or EXPIRED: under its id, with its stored input. The first row that ends it
-- leaves finished_tasks, so of two operators one finds it. Its attempts are numbered on; retries and crashes count from 0.
-- Results that were already delivered stand; who waits from now on gets the new end.
--   'retried'; 'unfinished': it has not ended, or not any more; 'completed': it never runs again; 'late': its deadline has passed,
--   and it needs a new one; 'node': its run starts it over, by retry_workflow(). Null: there is no such task.
create or replace function @schema.retry_task(id uuid, new_good_until timestamptz, retried_by text) returns text
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  sent @schema.submissions;
  ended @schema.finished_tasks;
  deadline timestamptz := new_good_until;
  its_attempts integer;
begin
  select * into sent from @schema.submissions where task_id = retry_task.id;
  if not found then return null; end if;
  if sent.workflow_id is not null then return 'node'; end if;
  -- Retention and another operator lock the same row.
  select * into ended from @schema.finished_tasks where task_id = retry_task.id for update;
  if not found then return 'unfinished'; end if;
  if ended.status is null then return 'completed'; end if;
  if deadline is null then
    select good_until into deadline from @schema.task_retries
     where task_id = retry_task.id and good_until is not null order by id desc limit 1;
    deadline := coalesce(deadline, sent.good_until);
  end if;
  if deadline <= clock_timestamp() or (ended.status = 'EXPIRED' and new_good_until is null) then return 'late'; end if;

  its_attempts := coalesce(ended.attempt_no, (ended.started_at is not null)::integer);
  delete from @schema.finished_tasks where task_id = retry_task.id;
  if ended.started_at is not null then
    insert into @schema.attempts
      (task_id, attempt_no, claim_id, worker_id, claimed_at, started_at, finished_at, outcome, error_code, error, ended_task)
    values (ended.task_id, its_attempts, ended.claim_id, ended.worker_id, coalesce(ended.claimed_at, ended.started_at),
            ended.started_at, ended.finished_at, ended.status, ended.error_code, ended.error, true);
  end if;
  insert into @schema.task_retries
    (task_id, retried_by, status, finished_at, claim_id, attempt_no, error_code, error, good_until)
  values (ended.task_id, retried_by, ended.status, ended.finished_at, ended.claim_id, its_attempts, ended.error_code,
          ended.error, new_good_until);
  insert into @schema.ready_tasks (task_id, queue, priority, enqueued_at, good_until, attempt_no)
  values (ended.task_id, sent.queue, sent.priority, clock_timestamp(), deadline, its_attempts);
  return 'retried';
end
$$;

-- Retries tasks in id order and notifies the workers of their queues.
create or replace function @schema.retry_tasks(ids uuid[], new_good_until timestamptz, action bigint)
returns table (id uuid, answer text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  operator constant text := (select coalesce(acted_by, actor) from @schema.operator_actions where id = retry_tasks.action);
  retried uuid[] := '{}';
begin
  for id in select distinct given.id from unnest(ids) as given (id) order by given.id
  loop
    answer := @schema.retry_task(id, new_good_until, operator);
    if answer = 'retried' then retried := retried || id; end if;
    return next;
  end loop;
  perform @schema.count_action(action, cardinality(retried), false);
  perform @schema.notify_unless_full(@schema.queue_channel(lane.queue), lane.priority || ':0')
     from (select distinct queue, priority from @schema.submissions where task_id = any (retried)) as lane;
end
$$;
revoke all on function @schema.retry_tasks(uuid[], timestamptz, bigint) from public;

-- For psql: retries one task.
--   select posthaste.retry('0190b4a2-…');
--   select posthaste.retry('0190b4a2-…', good_until => now() + interval '1 hour', acted_by => 'ann');
-- 'retried'; 'unfinished': it has not ended; null: there is no such task. Everything else is an error.
create or replace function @schema.retry(id uuid, good_until timestamptz default null, acted_by text default null)
returns text
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  action constant bigint := (@schema.begin_action(
    'retry task', retry.id::text, jsonb_strip_nulls(jsonb_build_object('goodUntil', retry.good_until)), retry.acted_by)).id;
  answer constant text := (select each.answer from @schema.retry_tasks(array[retry.id], retry.good_until, action) as each);
begin
  perform @schema.count_action(action, 0, true);
  case answer
    when 'completed' then
      raise exception 'posthaste: task % is COMPLETED and never runs again', retry.id
        using errcode = 'object_not_in_prerequisite_state', hint = 'send_again() sends its input as a new task.';
    when 'late' then
      raise exception 'posthaste: the deadline of task % has passed', retry.id
        using errcode = 'object_not_in_prerequisite_state', hint = 'Give a good_until that lies in the future.';
    when 'node' then
      raise exception 'posthaste: task % is a node of a run', retry.id
        using errcode = 'object_not_in_prerequisite_state', hint = 'retry_workflow(run, array[node]) starts the node over.';
    else return answer;
  end case;
end
$$;
revoke all on function @schema.retry(uuid, timestamptz, text) from public;

-- Cancels tasks in id order, as cancel() does one. Runs are locked first, all at once and in id order.
create or replace function @schema.cancel_tasks(ids uuid[], action bigint) returns table (id uuid, answer text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  cancelled uuid[] := '{}';
  changed integer := 0;
begin
  perform @schema.lock_runs_of(ids);
  for id in select distinct given.id from unnest(ids) as given (id) order by given.id
  loop
    answer := @schema.cancel_task(id);
    if answer = 'cancelled' then cancelled := cancelled || id; end if;
    if answer in ('cancelled', 'requested') then changed := changed + 1; end if;
    return next;
  end loop;
  perform @schema.advance_and_notify(cancelled);
  perform @schema.count_action(action, changed, false);
end
$$;
revoke all on function @schema.cancel_tasks(uuid[], bigint) from public;

-- Sends the input of a task, or another input, as a new task with the same name, options and flags. It has no key, no deadline
-- and no run of its model; what is null is as there. Returns its id. Null: there is no such task.
-- `copy_id` is its id: a call that is repeated, because its confirmation was lost, sends one copy.
create or replace function @schema.send_again(
  model uuid, action bigint, input json default null, queue text default null, priority integer default null,
  delay_ms double precision default 0, good_until timestamptz default null, copy_id uuid default null
) returns uuid
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  copied @schema.submissions;
  new_id constant uuid := coalesce(copy_id, @schema.uuid_v7());
  now constant timestamptz := clock_timestamp();
  due_at constant timestamptz := now + greatest(0, delay_ms) * interval '1 millisecond';
begin
  select * into copied from @schema.submissions where task_id = model;
  if not found then return null; end if;
  copied.queue := coalesce(send_again.queue, copied.queue);
  copied.priority := coalesce(send_again.priority, copied.priority);
  insert into @schema.submissions
    (task_id, name, queue, priority, input, options, flags, sent_at, run_at, good_until, copy_of)
  values (new_id, copied.name, copied.queue, copied.priority, coalesce(send_again.input, copied.input), copied.options,
          copied.flags, now, nullif(due_at, now), send_again.good_until, model)
      on conflict (task_id) do nothing;
  if not found then return new_id; end if;
  insert into @schema.ready_tasks (task_id, queue, priority, enqueued_at, good_until)
  values (new_id, copied.queue, copied.priority, due_at, send_again.good_until);
  perform @schema.count_action(action, 1, false);
  perform @schema.notify_unless_full(@schema.queue_channel(copied.queue), copied.priority || ':' || ceil(greatest(0, delay_ms)));
  return new_id;
end
$$;
revoke all on function @schema.send_again(uuid, bigint, json, text, integer, double precision, timestamptz, uuid) from public;

-- Gives a waiting task another place in its queue: due now, or another priority until it is claimed. What is null stays. Ready
-- rows are never updated (a claim deletes them by ctid), so the row is deleted and inserted; and since it is not where its
-- submission says any more, it is found by its id from now on: its attempt_no is not null.
--   'moved'; 'unchanged': it was there already; 'active': claimed or running; 'finished'; null: there is no such task.
create or replace function @schema.move_task(id uuid, action bigint, due_now boolean, new_priority integer) returns text
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  old @schema.ready_tasks;
  its_priority smallint;
  is_due boolean;
begin
  for round in 1..1000 loop
    select * into old from @schema.ready_tasks
     where ctid = any (array(select @schema.ready_row(move_task.id))) for update;
    if found then
      its_priority := coalesce(new_priority, old.priority);
      is_due := old.enqueued_at <= clock_timestamp();
      perform @schema.count_action(action, (its_priority <> old.priority or (due_now and not is_due))::integer, false);
      if its_priority = old.priority and (is_due or not due_now) then return 'unchanged'; end if;
      delete from @schema.ready_tasks where ctid = any (array(select @schema.ready_row(move_task.id)));
      insert into @schema.ready_tasks
        (task_id, queue, priority, enqueued_at, good_until, attempt_no, retry_count, crash_count)
      values (old.task_id, old.queue, its_priority,
              case when due_now and not is_due then clock_timestamp() else old.enqueued_at end, old.good_until,
              coalesce(old.attempt_no, 0), old.retry_count, old.crash_count);
      perform @schema.notify_unless_full(@schema.queue_channel(old.queue), its_priority || ':back');
      return 'moved';
    end if;
    perform from @schema.active_tasks where task_id = move_task.id;
    if found then return 'active'; end if;
    perform from @schema.finished_tasks where task_id = move_task.id;
    if found then return 'finished'; end if;
    perform from @schema.submissions where task_id = move_task.id;
    if not found then return null; end if;
  end loop;
  raise exception 'posthaste: task % kept moving', move_task.id
    using hint = 'Call move_task() in a READ COMMITTED transaction.', errcode = 'serialization_failure';
end
$$;
revoke all on function @schema.move_task(uuid, bigint, boolean, integer) from public;

-- Deletes a task that waits or has ended, with everything that is stored of it: input, result, errors, progress, history. Its
-- key is free again. 'deleted'; 'active': claimed or running; 'node': its run needs it; null: there is no such task.
create or replace function @schema.delete_task(id uuid, action bigint) returns text
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  answer text := 'deleted';
  ended tid[];
begin
  perform from @schema.submissions where task_id = delete_task.id and workflow_id is not null;
  if found then
    answer := 'node';
  else
    delete from @schema.ready_tasks where ctid = any (array(select @schema.ready_row(delete_task.id)));
    if not found then
      ended := array(select ctid from @schema.finished_tasks where task_id = delete_task.id for update);
      if cardinality(ended) = 0 then
        perform from @schema.submissions where task_id = delete_task.id;
        answer := case when found then 'active' end;
      end if;
    end if;
  end if;
  if answer = 'deleted' then
    perform @schema.forget_tasks(coalesce(ended, '{}'), array[delete_task.id]);
    delete from @schema.recoveries where task_id = delete_task.id;
    delete from @schema.heartbeats where task_id = delete_task.id;
  end if;
  perform @schema.count_action(action, case answer when 'deleted' then 1 else 0 end, false);
  return answer;
end
$$;
revoke all on function @schema.delete_task(uuid, bigint) from public;
