-- The small public SQL API: a trigger, another language or an operator with psql can send, cancel, requeue and fail.
--
-- cancel() runs with the rights of its owner: who may cancel a task must not be able to delete it, or to write a result. So do
-- those that pause and resume a queue, the functions that start, steer, advance and repair runs, and those that prune. Each of them says `security definer`, pins
-- search_path, and is taken from PUBLIC, which PostgreSQL lets call every new function; `posthaste roles` grants it.

-- Sends a task; its worker is woken when the caller's transaction commits. The same name and key return the same task.
--   select posthaste.send('add-numbers', '{"a": 2, "b": 3}');
--   select posthaste.send('mail', '{"to": "a@b.c"}', priority => 1, run_at => now() + interval '1 hour');
-- Queue, priority, options and flags that are left out, or null, are those of the definition that a worker registered last
-- under the name; flags are merged with those that are given. Without such a definition: 'default', 100, none, none.
create or replace function @schema.send(
  name text, input jsonb default 'null', queue text default null, priority integer default null,
  run_at timestamptz default null, good_until timestamptz default null, key text default null,
  options jsonb default null, flags jsonb default null
) returns uuid
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  sent_id uuid := @schema.uuid_v7();
  sent_at timestamptz := clock_timestamp();
  defined @schema.task_definitions;
  its_queue text;
  its_priority integer;
begin
  if coalesce(length(send.name), 0) not between 1 and 255 then
    raise exception 'posthaste: a task name has 1 to 255 characters, got %', coalesce(length(send.name), 0)
      using errcode = 'check_violation';
  end if;
  if send.queue !~ '^[a-zA-Z0-9_][a-zA-Z0-9_.:-]{0,99}$' then
    raise exception 'posthaste: % is not a queue name', quote_literal(send.queue)
      using errcode = 'check_violation', hint = 'Letters, digits and _ . : - only, 100 characters at most.';
  end if;
  if send.priority not between 1 and 100 then
    raise exception 'posthaste: priority is a number from 1 (first) to 100, got %', send.priority
      using errcode = 'check_violation';
  end if;
  select * into defined from @schema.task_definitions where name = send.name;
  its_queue := coalesce(send.queue, defined.queue, 'default');
  its_priority := coalesce(send.priority, defined.priority,
    case when its_queue = defined.queue then defined.queue_priority end, 100);
  loop
    insert into @schema.submissions
      (task_id, name, queue, priority, input, options, flags, sent_at, run_at, good_until, key)
    values (sent_id, send.name, its_queue, its_priority, coalesce(send.input, 'null'),
            coalesce(send.options, defined.options), coalesce(defined.flags || send.flags, send.flags, defined.flags),
            sent_at, case when send.run_at > sent_at then send.run_at end, send.good_until, send.key)
    on conflict (name, key) where key is not null do nothing;
    exit when found;
    select task_id into sent_id from @schema.submissions where name = send.name and key = send.key;
    if found then return sent_id; end if; -- else it was pruned between the two statements: insert again
    sent_id := @schema.uuid_v7();
  end loop;
  insert into @schema.ready_tasks (task_id, queue, priority, enqueued_at, good_until)
  values (sent_id, its_queue, its_priority, greatest(coalesce(send.run_at, sent_at), sent_at), send.good_until);
  perform @schema.notify_unless_full(@schema.queue_channel(its_queue),
    its_priority || ':' || greatest(0, ceil(extract(epoch from coalesce(send.run_at, sent_at) - sent_at) * 1000)));
  return sent_id;
end
$$;

-- The errors of cancelled and expired tasks. domain/errors.ts has the same codes.
create or replace function @schema.cancelled_error() returns jsonb
language sql immutable
return '{"code": "TASK_CANCELLED", "message": "the task was cancelled"}'::jsonb;

create or replace function @schema.expired_error() returns jsonb
language sql immutable
return '{"code": "TASK_EXPIRED", "message": "the task did not start before its goodUntil"}'::jsonb;

-- enable_seqscan is off in these functions: a session keeps the plans it made while the tables were empty, when a scan of the whole
-- table was cheapest. It would keep them with a million rows, until the next ANALYZE.

-- The ctid of a task's row in ready_tasks, if it has one: found by the place of its submission, or by its id if it returned to its
-- queue. Ready rows are never updated, so within a statement a ctid stays valid.
create or replace function @schema.ready_row(id uuid) returns setof tid
language sql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off
begin atomic
  select r.ctid
    from @schema.submissions s
   cross join lateral (
     select ctid from @schema.ready_tasks
      where queue = s.queue and priority = s.priority and enqueued_at = coalesce(s.run_at, s.sent_at)
        and task_id = s.task_id and attempt_no is null
      limit 1
   ) as r
   where s.task_id = ready_row.id
  union all
  select ctid from @schema.ready_tasks where task_id = ready_row.id and attempt_no is not null;
end;

-- 'cancelled': it was not running and never will. 'requested': it is running; its worker is notified, and it ends CANCELLED when its
-- handler has ended. 'finished': too late. Null: there is no such task.
--
-- The functions that may end a task advance the workflow of which it is a node: they lock its run first.
create or replace function @schema.cancel(id uuid) returns text
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  answer text;
begin
  perform @schema.lock_runs_of(array[id]);
  answer := @schema.cancel_task(id);
  if answer = 'cancelled' then perform @schema.advance_and_notify(array[id]); end if;
  return answer;
end
$$;
revoke all on function @schema.cancel(uuid) from public;

-- Separate statements, repeated: a task that moves between two tables is missed by a statement that looks at both with
-- one snapshot.
create or replace function @schema.cancel_task(id uuid) returns text
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  runner uuid;
  its_claim uuid;
begin
  for round in 1..1000 loop
    -- Claimed, and its handler has not begun: the worker finds that its claim is gone.
    if @schema.end_task(cancel_task.id, 'CANCELLED', @schema.cancelled_error(), false) then return 'cancelled'; end if;

    update @schema.active_tasks
       set cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp())
     where task_id = cancel_task.id and started_at is not null
    returning worker_id, claim_id into runner, its_claim;
    if found then
      perform @schema.notify_unless_full(@schema.worker_channel(runner), 'cancel ' || cancel_task.id || ' ' || its_claim);
      return 'requested';
    end if;

    perform from @schema.finished_tasks where task_id = cancel_task.id;
    if found then return 'finished'; end if;
    perform from @schema.submissions where task_id = cancel_task.id;
    if not found then return null; end if;
  end loop;
  raise exception 'posthaste: task % kept moving', cancel_task.id
    using hint = 'Call cancel() in a READ COMMITTED transaction.', errcode = 'serialization_failure';
end
$$;

-- Ends a task that waits or is claimed, and with `even_running` one that runs, and tells its waiters. False: it is none of
-- these at this moment. The one place in SQL that writes an end; the statements in store/queries write theirs by the batch.
create or replace function @schema.end_task(id uuid, end_status text, end_error jsonb, even_running boolean) returns boolean
language plpgsql volatile as $$
#variable_conflict use_column
declare
  ended @schema.finished_tasks;
begin
  delete from @schema.ready_tasks where ctid = any (array(select @schema.ready_row(end_task.id)))
  returning task_id, enqueued_at, attempt_no, retry_count, crash_count
       into ended.task_id, ended.enqueued_at, ended.attempt_no, ended.retry_count, ended.crash_count;
  if not found then
    delete from @schema.active_tasks where task_id = end_task.id and (even_running or started_at is null)
    returning task_id, enqueued_at, claimed_at, started_at, worker_id, attempt_no, retry_count, crash_count, cancel_requested_at
         into ended.task_id, ended.enqueued_at, ended.claimed_at, ended.started_at, ended.worker_id, ended.attempt_no,
              ended.retry_count, ended.crash_count, ended.cancel_requested_at;
  end if;
  if not found then return false; end if;
  if end_status = 'CANCELLED' then
    ended.cancel_requested_at := coalesce(ended.cancel_requested_at, clock_timestamp());
  end if;
  insert into @schema.finished_tasks
    (task_id, status, enqueued_at, claimed_at, started_at, finished_at, worker_id, attempt_no, retry_count, crash_count,
     cancel_requested_at, error_code, error, name, queue)
  select ended.task_id, end_status, ended.enqueued_at, ended.claimed_at, ended.started_at, clock_timestamp(),
         ended.worker_id, ended.attempt_no, ended.retry_count, ended.crash_count, ended.cancel_requested_at,
         end_error ->> 'code', end_error, sent.name, sent.queue
    from (values (ended.task_id)) as task (id) left join @schema.submissions as sent on sent.task_id = task.id;
  -- For statistics. A worker counts the ends of its own attempts.
  insert into @schema.rollups (starts_at, covers, name, queue, failed, cancelled)
  select date_trunc('minute', clock_timestamp()), 'part', name, queue, (end_status = 'FAILED')::integer,
         (end_status = 'CANCELLED')::integer
    from @schema.submissions where task_id = ended.task_id;
  perform @schema.notify_waiters(array[ended.task_id]);
  return true;
end
$$;

-- Takes a claimed or running task from its worker and returns it to its old place in the queue. A late result of the worker changes
-- nothing. 'requeued', 'cancelled' (its cancellation had been requested), 'pending' (it was not claimed),
-- 'finished', or null: there is no such task.
create or replace function @schema.requeue(id uuid) returns text
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  held @schema.active_tasks;
  sent record;
begin
  perform @schema.lock_runs_of(array[requeue.id]);
  for round in 1..1000 loop
    select * into held from @schema.active_tasks where task_id = requeue.id for update;
    if found then
      if held.cancel_requested_at is not null then
        perform @schema.end_task(requeue.id, 'CANCELLED', @schema.cancelled_error(), true);
        perform @schema.advance_and_notify(array[requeue.id]);
        return 'cancelled';
      end if;
      delete from @schema.active_tasks where task_id = requeue.id;
      held.attempt_no := coalesce(held.attempt_no, (held.started_at is not null)::integer);
      if held.started_at is not null then
        insert into @schema.attempts
          (task_id, attempt_no, claim_id, worker_id, claimed_at, started_at, finished_at, outcome)
        values (held.task_id, held.attempt_no, held.claim_id, held.worker_id,
                coalesce(held.claimed_at, held.started_at), held.started_at, clock_timestamp(), 'INTERRUPTED');
      end if;
      select queue, priority, coalesce(run_at, sent_at) as first_due_at into sent
        from @schema.submissions where task_id = held.task_id;
      insert into @schema.ready_tasks
        (task_id, queue, priority, enqueued_at, good_until, attempt_no, retry_count, crash_count)
      values (held.task_id, sent.queue, sent.priority, coalesce(held.enqueued_at, sent.first_due_at), held.good_until,
              held.attempt_no, held.retry_count, held.crash_count);
      perform @schema.notify_unless_full(@schema.queue_channel(sent.queue), sent.priority || ':back');
      return 'requeued';
    end if;
    perform from @schema.ready_row(requeue.id);
    if found then return 'pending'; end if;
    perform from @schema.finished_tasks where task_id = requeue.id;
    if found then return 'finished'; end if;
    perform from @schema.submissions where task_id = requeue.id;
    if not found then return null; end if;
  end loop;
  raise exception 'posthaste: task % kept moving', requeue.id
    using hint = 'Call requeue() in a READ COMMITTED transaction.', errcode = 'serialization_failure';
end
$$;

-- Ends a task that has not ended as FAILED with this code, claimed or not. 'failed', 'finished', or null: there is
-- no such task.
create or replace function @schema.fail(id uuid, code text, message text default null) returns text
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  reason constant jsonb := jsonb_build_object('code', fail.code, 'message', coalesce(fail.message, fail.code));
begin
  if fail.code is null or fail.code !~ '^[A-Z][A-Z0-9_]*$' then
    raise exception 'posthaste: % is not an error code', coalesce(quote_literal(fail.code), 'null')
      using errcode = 'check_violation', hint = 'Codes are UPPER_SNAKE_CASE.';
  end if;
  perform @schema.lock_runs_of(array[fail.id]);
  for round in 1..1000 loop
    if @schema.end_task(fail.id, 'FAILED', reason, true) then
      perform @schema.advance_and_notify(array[fail.id]);
      return 'failed';
    end if;
    perform from @schema.finished_tasks where task_id = fail.id;
    if found then return 'finished'; end if;
    perform from @schema.submissions where task_id = fail.id;
    if not found then return null; end if;
  end loop;
  raise exception 'posthaste: task % kept moving', fail.id
    using hint = 'Call fail() in a READ COMMITTED transaction.', errcode = 'serialization_failure';
end
$$;

-- No worker claims or starts tasks of a paused queue; running tasks go on. Workers are notified at once, and every claim checks it.
-- True if this changed the queue.
create or replace function @schema.pause_queue(name text) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  if name is null or name !~ '^[a-zA-Z0-9_][a-zA-Z0-9_.:-]{0,99}$' then
    raise exception 'posthaste: % is not a queue name', coalesce(quote_literal(name), 'null')
      using errcode = 'check_violation', hint = 'Letters, digits and _ . : - only, 100 characters at most.';
  end if;
  insert into @schema.queues as known (queue, paused_at) values (name, clock_timestamp())
  on conflict (queue) do update set paused_at = excluded.paused_at where known.paused_at is null;
  if not found then return false; end if;
  perform @schema.notify_unless_full(@schema.queue_channel(name), 'paused');
  return true;
end
$$;
revoke all on function @schema.pause_queue(text) from public;

create or replace function @schema.resume_queue(name text) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  update @schema.queues set paused_at = null where queue = name and paused_at is not null;
  if not found then return false; end if;
  perform @schema.notify_unless_full(@schema.queue_channel(name), 'resumed');
  return true;
end
$$;
revoke all on function @schema.resume_queue(text) from public;
