/**
 * Roles of least privilege, as a script for psql: what each kind of process needs and nothing more. `test/security` runs
 * the main paths under each of them, and what each must not do.
 */
import { schemaText } from "./sql.ts";

/** Safe to run again, and to be run again after every migration. */
export function printRoles(schema: string): string {
  const quoted = schemaText(schema); // checks the name, too
  return SCRIPT.replaceAll("@schema", quoted)
    .replaceAll("@name", schema)
    .replaceAll(/@(migrator|producer|worker|reader|operator)/g, `"${schema}_$1"`);
}

const SCRIPT = `-- Roles of least privilege for the schema @schema. Run it as an administrator, migrate as @migrator,
-- then run it again; and again, as @migrator, after every later migration.

begin;
set local search_path = pg_catalog, pg_temp;

do $roles$
declare
  kind text;
begin
  -- The lock of migrations: who grants on a function that is being replaced fails ("tuple concurrently updated").
  perform pg_advisory_xact_lock(hashtextextended('posthaste/migrate/@name', 0));
  foreach kind in array array['migrator', 'producer', 'worker', 'reader', 'operator'] loop
    if not exists (select from pg_roles where rolname = '@name_' || kind) then
      execute format('create role %I nologin', '@name_' || kind);
    end if;
  end loop;
  if not exists (select from pg_namespace where nspname = '@name') then
    -- Who is no superuser can give a schema away only to a role of which it is a member.
    if current_setting('is_superuser') = 'off' then
      grant @migrator to current_user;
    end if;
    create schema @schema authorization @migrator;
  end if;
  -- Tasks send tasks, and wait for them.
  if not pg_has_role('@name_worker', '@name_producer', 'member') then
    grant @producer to @worker;
  end if;
  -- Reads what readers read, and recovers and prunes with the rights of a worker.
  if not pg_has_role('@name_operator', '@name_worker', 'member') then
    grant @worker to @operator;
  end if;
  if not pg_has_role('@name_operator', '@name_reader', 'member') then
    grant @reader to @operator;
  end if;
end
$roles$;

-- Objects of later migrations: readers may see them; the other roles get them when this script is run again.
-- (PostgreSQL gives EXECUTE on every new function to PUBLIC, and takes it back only without "in schema".)
alter default privileges for role @migrator revoke execute on functions from public;
alter default privileges for role @migrator in schema @schema grant select on tables to @reader;

revoke all on schema @schema from public, @producer, @worker, @reader, @operator;
revoke all on all tables in schema @schema from public, @producer, @worker, @reader, @operator;
revoke all on all functions in schema @schema from public, @producer, @worker, @reader, @operator;
grant usage on schema @schema to @producer, @worker, @reader;

-- Reads everything, the view "tasks" above all, and writes nothing.
grant select on all tables in schema @schema to @reader;

do $grants$
begin
  if to_regclass('@name.submissions') is null then
    raise notice 'the schema @name is empty: migrate as @name_migrator, then run this script again';
    return;
  end if;

  -- Sends, waits for results, cancels. Reads no more of a task than these need.
  grant select on @schema.migrations, @schema.function_versions to @producer;
  grant insert on @schema.submissions, @schema.ready_tasks to @producer;
  grant select (task_id, name, queue, priority, key, input) on @schema.submissions to @producer;
  grant select (task_id, queue) on @schema.ready_tasks to @producer;
  -- To warn of queues that no worker serves.
  grant select (queues, state, last_heartbeat_at) on @schema.workers to @producer;
  grant select (task_id, status, result, error) on @schema.finished_tasks to @producer;
  grant select on @schema.task_definitions to @producer;
  grant select (task_id, value) on @schema.progress to @producer;
  -- UPDATE only for the locks of "for update": a waiter is never changed.
  grant select, insert, update, delete on @schema.waiters to @producer;
  grant execute on function
    @schema.send(text, jsonb, text, integer, timestamptz, timestamptz, text, jsonb, jsonb),
    @schema.queue_channel(text), @schema.uuid_v7(), @schema.notify_waiters(uuid[]),
    @schema.notify_unless_full(text, text), @schema.cancel(uuid)
    to @producer;

  -- Starts runs, steers them, and reads how they go, by functions that run with the rights of their owner, as cancel() does:
  -- who may call them must not be able to write a node's end. Those that they call are their owner's alone.
  grant select on @schema.workflows, @schema.workflow_states, @schema.workflow_graphs, @schema.graph_nodes to @producer;
  grant execute on function @schema.store_graph(text, jsonb),
    @schema.start_workflows(uuid[], integer[], jsonb[], text[]), @schema.workflow_results(uuid, text[]),
    @schema.workflow_items(uuid, text), @schema.pause_workflow(uuid), @schema.resume_workflow(uuid), @schema.cancel_workflow(uuid),
    @schema.retry_workflow(uuid, text[]) to @producer;
  -- Writes down what it does as an operator, under its own name. It cannot read the record.
  grant execute on function @schema.begin_action(text, text, jsonb, text), @schema.count_action(bigint, integer, boolean)
    to @producer;

  -- Moves tasks from state to state. Never changes what was sent or how something ended.
  grant select on @schema.submissions, @schema.attempts, @schema.finished_tasks, @schema.task_retries to @worker;
  grant insert on @schema.attempts, @schema.finished_tasks to @worker;
  grant select, insert, update, delete on @schema.ready_tasks, @schema.active_tasks to @worker;
  grant select, insert, update on @schema.workers, @schema.task_definitions, @schema.progress to @worker;
  grant select on @schema.queues to @worker;
  -- Sends heartbeats, and recovers tasks of silent workers.
  grant select, insert on @schema.heartbeats, @schema.worker_states, @schema.recoveries to @worker;
  grant select, insert on @schema.server_timelines to @worker;
  grant execute on function @schema.queue_load(boolean), @schema.current_timeline(), @schema.up_since() to @worker;
  -- Counts what it has ended, and merges old counts.
  grant select, insert on @schema.rollups to @worker;
  grant execute on function @schema.merge_rollups(integer), @schema.prune_rollups(integer, integer) to @worker;
  -- Advances the runs whose tasks it has ended, and repairs those that are stuck.
  grant select on @schema.workflow_nodes, @schema.earlier_nodes, @schema.graph_edges to @worker;
  grant execute on function @schema.lock_runs_of(uuid[]), @schema.advance_workflows(uuid[]),
    @schema.advance_and_notify(uuid[]), @schema.find_stuck_workflows(uuid, integer), @schema.repair_workflow(uuid) to @worker;
  -- Stores the schedules of its code, and fires them.
  grant select, insert, update on @schema.schedules to @worker;
  grant select, insert on @schema.schedule_firings to @worker;
  -- Deletes what is old, and nothing else: with the rights of the functions' owner, as cancel().
  grant execute on function @schema.prune_heartbeats(integer, integer),
    @schema.prune_worker_states(integer, integer), @schema.prune_ended_tasks(integer, integer, integer, uuid),
    @schema.prune_ended_tasks_of_own_id(integer, integer, integer, timestamptz), @schema.first_id_at(timestamptz),
    @schema.prune_workflows(integer, integer, timestamptz), @schema.prune_schedule_firings(integer, integer) to @worker;

  -- Retries, copies, moves, cancels and deletes tasks, and pauses queues: with the rights of the functions' owner.
  grant execute on function @schema.retry(uuid, timestamptz, text), @schema.retry_tasks(uuid[], timestamptz, bigint),
    @schema.cancel_tasks(uuid[], bigint),
    @schema.send_again(uuid, bigint, json, text, integer, double precision, timestamptz, uuid),
    @schema.move_task(uuid, bigint, boolean, integer), @schema.delete_task(uuid, bigint), @schema.pause_queue(text),
    @schema.resume_queue(text) to @operator;
  -- Makes, pauses, triggers and deletes schedules.
  grant select, insert, update, delete on @schema.schedules, @schema.schedule_firings to @operator;
end
$grants$;

commit;`;
