-- What send() takes where its caller says nothing: the definition of the task, as a worker registered it.

-- A row for each task name that a worker has ever registered. The newest registration wins; a row whose worker is gone stays,
-- as its tasks do.
create table @schema.task_definitions (
  name           text collate "C" primary key,
  registered_at  timestamptz not null default clock_timestamp(),
  -- The definition's own. Null: it leaves it to the queue.
  priority       smallint check (priority between 1 and 100),
  -- What the app's config says of the queue below. Null: nothing.
  queue_priority smallint check (queue_priority between 1 and 100),
  queue          text collate "C" not null,
  -- As a sender would write them into submissions.
  options        jsonb,
  flags          jsonb
);

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
