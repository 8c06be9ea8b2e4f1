/**
 * Every change of a schedule, every firing, every end that was taken back, every task that was deleted and every count of an
 * operator's action, written down by triggers in the transaction that makes it.
 */

export const OPERATE_JOURNAL = `
  -- One sequence: a session changes a schedule or fires it with the schedule's row locked, so this is the order of commits, too.
  create sequence chaos.schedule_seq;

  create table chaos.schedule_journal (
    seq             bigint primary key default nextval('chaos.schedule_seq'),
    at              timestamptz not null default clock_timestamp(),
    xid             xid8 not null default pg_current_xact_id(),
    op              text not null,
    schedule        text not null,
    -- The state after the change; for a deletion, the state before it.
    period_ms       bigint,
    missed          text,
    max_missed      integer,
    overlap         text,
    next_before     timestamptz,
    next_slot       timestamptz,
    buffered_before timestamptz,
    buffered_slot   timestamptz,
    was_paused      boolean,
    is_paused       boolean,
    is_same_pattern boolean,
    failures        integer,
    last_error      text
  );
  create index on chaos.schedule_journal (schedule, seq);
  create index on chaos.schedule_journal (schedule, seq) where op = 'INSERT';
  create index on chaos.schedule_journal (xid);

  create table chaos.firing_journal (
    seq        bigint primary key default nextval('chaos.schedule_seq'),
    at         timestamptz not null default clock_timestamp(),
    xid        xid8 not null default pg_current_xact_id(),
    began_at   timestamptz not null default transaction_timestamp(),
    pid        integer not null default pg_backend_pid(),
    schedule   text not null,
    slot       timestamptz not null,
    fired_at   timestamptz not null,
    task_id    uuid,
    run_id     uuid,
    skipped    text,
    first_slot timestamptz,
    triggered  boolean not null
  );
  create index on chaos.firing_journal (schedule, seq);
  create index on chaos.firing_journal (schedule, slot);
  create index on chaos.firing_journal (xid);
  create index on chaos.firing_journal (task_id);

  create table chaos.retry_journal (
    seq        bigint generated always as identity (cache 1) primary key,
    at         timestamptz not null default clock_timestamp(),
    xid        xid8 not null default pg_current_xact_id(),
    task_id    uuid not null,
    status     text not null,
    claim_id   uuid,
    attempt_no integer not null
  );
  create index on chaos.retry_journal (task_id);
  create index on chaos.retry_journal (xid);

  create table chaos.deleted (
    task_id uuid not null, copy_of uuid, at timestamptz not null default clock_timestamp(),
    xid xid8 not null default pg_current_xact_id());
  create index on chaos.deleted (task_id);

  create table chaos.action_journal (
    xid xid8 not null default pg_current_xact_id(), at timestamptz not null default clock_timestamp(), id bigint not null,
    action text not null, target text, more integer not null);
  create index on chaos.action_journal (xid);

  -- The patterns of a chaos run: grids of whole seconds, counted from 1970, also where they are cron text.
  create function chaos.period_of(pattern jsonb) returns bigint language sql immutable as $$
    select case pattern ->> 'kind' when 'every' then (pattern ->> 'ms')::bigint
           else substring(pattern ->> 'cron' from '^[*]/([0-9]+)')::bigint * 1000 end $$;

  create function chaos.write_down_schedule() returns trigger language plpgsql as $$
  declare
    told posthaste.schedules := case tg_op when 'DELETE' then old else new end;
  begin
    insert into chaos.schedule_journal
      (op, schedule, period_ms, missed, max_missed, overlap, next_before, next_slot, buffered_before, buffered_slot, was_paused,
       is_paused, is_same_pattern, failures, last_error)
    values (
      tg_op, told.name, chaos.period_of(told.pattern), told.missed, told.max_missed, told.overlap, old.next_slot, new.next_slot,
      old.buffered_slot, new.buffered_slot, old.paused_at is not null, new.paused_at is not null,
      tg_op = 'UPDATE' and (old.pattern, old.timezone, old.start_at, old.end_at)
        is not distinct from (new.pattern, new.timezone, new.start_at, new.end_at),
      told.failures, told.last_error);
    return null;
  end $$;
  create trigger write_down_schedule after insert or update or delete on posthaste.schedules
    for each row execute function chaos.write_down_schedule();

  create function chaos.write_down_firing() returns trigger language plpgsql as $$
  begin
    insert into chaos.firing_journal (schedule, slot, fired_at, task_id, run_id, skipped, first_slot, triggered)
    values (new.schedule, new.slot, new.fired_at, new.task_id, new.run_id, new.skipped, new.first_slot, new.triggered);
    return null;
  end $$;
  create trigger write_down_firing after insert on posthaste.schedule_firings
    for each row execute function chaos.write_down_firing();

  create function chaos.write_down_retry() returns trigger language plpgsql as $$
  begin
    insert into chaos.retry_journal (task_id, status, claim_id, attempt_no)
    values (new.task_id, new.status, new.claim_id, new.attempt_no);
    return null;
  end $$;
  create trigger write_down_retry after insert on posthaste.task_retries
    for each row execute function chaos.write_down_retry();

  create function chaos.write_down_deleted() returns trigger language plpgsql as $$
  begin
    insert into chaos.deleted (task_id, copy_of) values (old.task_id, old.copy_of);
    return null;
  end $$;
  create trigger write_down_deleted after delete on posthaste.submissions
    for each row when (old.workflow_id is null) execute function chaos.write_down_deleted();

  create function chaos.write_down_action() returns trigger language plpgsql as $$
  begin
    insert into chaos.action_journal (id, action, target, more)
    values (new.id, new.action, new.target, new.affected - old.affected);
    return null;
  end $$;
  create trigger write_down_action after update on posthaste.operator_actions
    for each row execute function chaos.write_down_action();`;

/** When tasks and runs that schedules sent had ended: from the commit of an end to that of the retry that took it back. */
export const FIRED_ENDS = `
  drop table if exists chaos.fired_ends;
  create table chaos.fired_ends as
  with told as (
    select task_id as id, seq, xid, op = 'in' as is_end from chaos.journal
     where status in ('COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED') and op in ('in', 'out')
       and task_id in (select task_id from chaos.firing_journal)
       -- A task that was deleted has ended.
       and not (op = 'out' and exists (
         select from chaos.deleted d where d.task_id = journal.task_id and d.xid = journal.xid))
    union all
    select task_id, null, xid, true from chaos.deleted where task_id in (select task_id from chaos.firing_journal)
    union all
    select workflow_id, seq, xid, true from chaos.run_journal
     where status in ('COMPLETED', 'FAILED', 'CANCELLED') and workflow_id in (select run_id from chaos.firing_journal)
  )
  select id, is_end, pg_xact_commit_timestamp(xid::xid) as since,
         coalesce(lead(pg_xact_commit_timestamp(xid::xid)) over (partition by id order by seq), 'infinity') as until
    from told;
  delete from chaos.fired_ends where not is_end;
  create index on chaos.fired_ends (id);
  analyze chaos.fired_ends, chaos.firing_journal, chaos.schedule_journal;`;
