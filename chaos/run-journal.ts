/**
 * Every move of every run and of every node, written down by triggers in the transaction that makes it; and the tasks that
 * were taken back because their run was paused.
 */

export const RUN_JOURNAL = `
  create table chaos.run_journal (
    seq           bigint generated always as identity (cache 1) primary key,
    at            timestamptz not null default clock_timestamp(),
    xid           xid8 not null default pg_current_xact_id(),
    workflow_id   uuid not null,
    status_before text,
    -- Null: the row is gone.
    status        text,
    is_cancelling boolean,
    said_by       text not null default current_setting('application_name')
  );
  create index on chaos.run_journal (workflow_id, seq);
  create index on chaos.run_journal (xid);

  create table chaos.node_journal (
    seq            bigint generated always as identity (cache 1) primary key,
    at             timestamptz not null default clock_timestamp(),
    xid            xid8 not null default pg_current_xact_id(),
    workflow_id    uuid not null,
    node_no        integer not null,
    item           integer not null,
    status_before  text,
    status         text,
    -- How often it was started over.
    retries_before integer,
    retries        integer,
    task_id        uuid,
    said_by        text not null default current_setting('application_name')
  );
  create index on chaos.node_journal (workflow_id, seq);
  create index on chaos.node_journal (xid);

  create table chaos.taken_back (
    task_id uuid not null, workflow_id uuid, at timestamptz not null default clock_timestamp(),
    xid xid8 not null default pg_current_xact_id());

  create function chaos.write_down_run() returns trigger language plpgsql as $$
  begin
    insert into chaos.run_journal (workflow_id, status_before, status, is_cancelling)
    values (coalesce(new.workflow_id, old.workflow_id), old.status, new.status, new.cancel_requested_at is not null);
    return null;
  end $$;
  create trigger write_down_run after insert or delete on posthaste.workflow_states
    for each row execute function chaos.write_down_run();
  create trigger write_down_changes after update on posthaste.workflow_states for each row
    when (row(old.status, old.cancel_requested_at) is distinct from row(new.status, new.cancel_requested_at))
    execute function chaos.write_down_run();

  create function chaos.write_down_node() returns trigger language plpgsql as $$
  begin
    insert into chaos.node_journal
      (workflow_id, node_no, item, status_before, status, retries_before, retries, task_id)
    values (coalesce(new.workflow_id, old.workflow_id), coalesce(new.node_no, old.node_no), coalesce(new.item, old.item),
            old.status, new.status, coalesce(old.retries, 0), coalesce(new.retries, 0), new.task_id);
    return null;
  end $$;
  create trigger write_down_node after insert or delete on posthaste.workflow_nodes
    for each row execute function chaos.write_down_node();
  create trigger write_down_changes after update on posthaste.workflow_nodes for each row
    when (row(old.status, old.retries, old.task_id) is distinct from row(new.status, new.retries, new.task_id))
    execute function chaos.write_down_node();

  create function chaos.write_down_taken_back() returns trigger language plpgsql as $$
  begin
    insert into chaos.taken_back (task_id, workflow_id) values (old.task_id, old.workflow_id);
    return null;
  end $$;
  create trigger write_down_taken_back after delete on posthaste.submissions
    for each row when (old.workflow_id is not null) execute function chaos.write_down_taken_back();`;

/** What callers saw; filled from their files when the dust has settled. */
export const RUN_BOOKS = `
  create table chaos.started_runs (workflow_id uuid not null);
  create table chaos.cancelled_runs (workflow_id uuid not null, answer text not null);
  create table chaos.awaited_runs (workflow_id uuid not null, result jsonb not null);
  create table chaos.asked_retries (workflow_id uuid not null);`;

/** While a run was not to start anything: from the commit that said so, of it or of one that it is nested in, until the next word about that. */
export const HALTS = `
  drop table if exists chaos.halts;
  create table chaos.halts as
  with recursive tree as (
    select workflow_id as above_id, workflow_id from posthaste.workflows
    union
    select tree.above_id, w.workflow_id from tree join posthaste.workflows w on w.parent_id = tree.workflow_id
  )
  select tree.workflow_id, seq, is_cancelling, pg_xact_commit_timestamp(xid::xid) as since,
         coalesce(next_at, 'infinity') as until
    from (
      select j.*, lead(at) over (partition by workflow_id order by seq) as next_at from chaos.run_journal j
    ) as told
    join tree on tree.above_id = told.workflow_id
   where status = 'PAUSED' or is_cancelling;
  create index on chaos.halts (workflow_id);
  analyze chaos.halts, chaos.run_journal, chaos.node_journal;`;
