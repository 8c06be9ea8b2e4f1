-- Ids, channels and notifications: what every other topic uses.

-- The channel that workers of a queue listen on. A hash, because channel names end at 63 bytes.
create or replace function @schema.queue_channel(queue text) returns text
language sql immutable strict parallel safe set search_path = pg_catalog, pg_temp
return 'ph_' || substr(encode(sha256(convert_to('@schema_name' || '/queue/' || queue, 'UTF8')), 'hex'), 1, 32);

-- The channel that one worker listens on, for what concerns a task that it runs.
create or replace function @schema.worker_channel(worker uuid) returns text
language sql immutable strict parallel safe set search_path = pg_catalog, pg_temp
return 'ph_' || substr(encode(sha256(convert_to('@schema_name' || '/worker/' || worker, 'UTF8')), 'hex'), 1, 32);

-- Time-ordered ids (RFC 9562, version 7), as the TypeScript client makes them. Its names were resolved when it was created;
-- without a search_path setting it is inlined (a tenth of the time, and workflows make an id for every node).
create or replace function @schema.uuid_v7() returns uuid
language sql volatile parallel safe
return encode(
  set_bit(set_bit(
    overlay(uuid_send(gen_random_uuid())
            placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
            from 1 for 6),
    52, 1), 53, 1), 'hex')::uuid;

-- The server's notification queue (8 GB unless max_notify_queue_pages says otherwise) fills up while a session listens and
-- never ends its transaction. A transaction that has notified is then refused when it commits (54000), with all that it wrote.
-- Workers and waiters poll: a notification that is left out costs them time, never a task.

-- Refused from 0.9 on, so that transactions that are about to commit have room.
create or replace function @schema.notify_unless_full(channel text, payload text) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  if pg_notification_queue_usage() < 0.9 then perform pg_notify(channel, payload); end if;
end
$$;

-- Notifies the waiters of these tasks that they have ended, each on its own channel: '<id> <status> <json>', so that the waiter
-- reads nothing. Where result or error are large, and for runs, the message is only the id: a message holds less than 8,000 bytes.
--
-- Called in a statement of its own after the commit that ended the tasks: inside the same statement, a waiter that registers
-- meanwhile and this look-up could miss each other. While the notification queue is full, waiters stay registered. A row that
-- another session is deleting is skipped: its waiter is being notified, or is leaving. A statement that never waits cannot
-- deadlock, and these rows are never updated, so a ctid stays valid. Without sequential scans: with one, a plan from an emptier
-- moment compared every waiter with every row to delete.
create or replace function @schema.notify_waiters(ids uuid[]) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  told record;
begin
  if pg_notification_queue_usage() >= 0.9 then return; end if;
  for told in
    delete from @schema.waiters as waiter
     where ctid = any (array(
       select ctid from @schema.waiters where task_id = any (ids) for update skip locked))
    returning channel, task_id, (
      select case when status is null then 'COMPLETED ' || coalesce(result::text, '')
                  else status || ' ' || coalesce(error::text, '') end
        from @schema.finished_tasks
       where task_id = waiter.task_id
         -- Stored sizes first, so that a large value is not unpacked to be measured.
         and coalesce(pg_column_size(result), 0) + coalesce(pg_column_size(error), 0) <= 2000
       limit 1) as outcome
  loop
    perform pg_notify(told.channel,
                      case when octet_length(told.outcome) <= 4000 then told.task_id || ' ' || told.outcome else told.task_id::text end);
  end loop;
end
$$;
