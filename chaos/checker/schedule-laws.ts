/** When schedules fire: each slot once, none missing, no two at once where that is not allowed. */
import type { Law } from "./law.ts";

/** The state of the schedule of `f` when it fired: the last change before, and where its present life began. */
const STATE_BEFORE = `
  cross join lateral (
    select j.* from chaos.schedule_journal j
     where j.schedule = f.schedule and j.seq < f.seq order by j.seq desc limit 1) as state
  cross join lateral (
    select max(j.seq) as made_seq from chaos.schedule_journal j
     where j.schedule = f.schedule and j.seq < f.seq and j.op = 'INSERT') as life`;

/** The task or run that `f` overlaps with, if it has not ended. */
const FIRED_BEFORE = `
  cross join lateral (
    select b.xid, coalesce(b.task_id, b.run_id) as id, b.slot from chaos.firing_journal b
     where b.schedule = f.schedule and b.seq < f.seq and b.seq > life.made_seq and b.skipped is null
     order by b.seq desc limit 1) as before`;

const SLOT = "f.schedule as task, f.seq, 'slot ' || f.slot";

/**
 * Between the time of a commit and the moment from which others see it lies the flush of the log: 10 ms and more after a restart of
 * the server.
 */
const FLUSH = "interval '1 second'";

export const scheduleLaws: readonly Law[] = [
  {
    says: "a slot fires or is skipped once",
    broken: `
      select f.schedule as task, max(f.seq) as seq, 'slot ' || f.slot || ' ' || count(*) || ' times' as detail
        from chaos.firing_journal f ${STATE_BEFORE}
       group by f.schedule, f.slot, life.made_seq having count(*) > 1`,
  },
  {
    says: "a firing sends one task or starts one run, in its own transaction",
    broken: `
      select ${SLOT} || ' sent ' || coalesce(f.task_id, f.run_id) || ' in ' || coalesce(sent.xid::text, 'no transaction') as detail
        from chaos.firing_journal f
        left join lateral (
          select xid from chaos.journal j where j.task_id = f.task_id order by j.seq limit 1) as of_task on true
        left join lateral (
          select xid from chaos.run_journal j where j.workflow_id = f.run_id order by j.seq limit 1) as of_run on true
       cross join lateral (select coalesce(of_task.xid, of_run.xid) as xid) as sent
       where f.skipped is null and sent.xid is distinct from f.xid`,
  },
  {
    says: "a task or run of a schedule has one firing",
    broken: `
      select sent.id::text as task, null::bigint as seq, sent.firings || ' firings' as detail
        from (
          select s.task_id as id, (select count(*) from chaos.firing_journal f where f.task_id = s.task_id) as firings
            from posthaste.submissions s where s.name in ('tick', 'tock') and s.copy_of is null
          union all
          select w.workflow_id, (select count(*) from chaos.firing_journal f where f.run_id = w.workflow_id)
            from posthaste.workflows w where w.input ->> 'id' like 'schedule %'
        ) as sent
       where sent.firings <> 1`,
  },
  {
    says: "no slot is missing: it fires, waits for an end, or is skipped with a reason",
    broken: `
      select m.schedule as task, m.seq, 'slot ' || grid.slot || ', moved on to ' || m.next_slot as detail
        from chaos.schedule_journal m
       cross join lateral generate_series(
         m.next_before, m.next_slot - m.period_ms * interval '1 millisecond', m.period_ms * interval '1 millisecond') as grid (slot)
       where m.is_same_pattern and not m.was_paused
         and m.buffered_slot is distinct from grid.slot
         and not exists (
           select from chaos.firing_journal f
            where f.schedule = m.schedule and f.slot = grid.slot and f.seq < m.seq)
         and not exists (
           select from chaos.firing_journal f
            where f.xid = m.xid and f.schedule = m.schedule and f.skipped = 'missed'
              and grid.slot between f.first_slot and f.slot)`,
  },
  {
    says: "the next slot of a pattern never goes back",
    broken: `
      select schedule as task, seq, 'from ' || next_before || ' to ' || coalesce(next_slot::text, 'none') as detail
        from chaos.schedule_journal where is_same_pattern and next_slot < next_before`,
  },
  {
    says: "no slot fires before its time, or while its schedule is paused",
    broken: `
      select ${SLOT} || ' fired ' || f.fired_at || case when state.is_paused then ', paused' else '' end as detail
        from chaos.firing_journal f ${STATE_BEFORE}
       where not f.triggered and (f.fired_at < f.slot or state.is_paused)`,
  },
  {
    says: "a slot is skipped as missed only where its policy says so",
    broken: `
      select ${SLOT} || ' of a schedule with ' || state.missed || ', ' || due.later || ' later ones were due at ' || f.fired_at as detail
        from chaos.firing_journal f ${STATE_BEFORE}
       cross join lateral (
         select floor(extract(epoch from f.fired_at - f.slot) * 1000 / state.period_ms)::int as later) as due
       where f.skipped = 'missed'
         and case state.missed
               when 'all' then due.later < state.max_missed
               when 'latest' then due.later < 1
               else due.later < 1 and f.fired_at - f.slot < interval '1 minute' end`,
  },
  {
    says: "a slot is skipped for an overlap only while the last task or run has not ended",
    broken: `
      select ${SLOT} || ', the last one was ' || coalesce(before.id::text, 'none') as detail
        from chaos.firing_journal f ${STATE_BEFORE}
        left join lateral (select * from (values (1)) as one ${FIRED_BEFORE}) as before on true
       where f.skipped = 'overlap'
         and (state.overlap = 'allow' or before.id is null
              or (before.xid <> f.xid and exists (
                select from chaos.fired_ends e
                 where e.id = before.id and e.since < f.began_at - ${FLUSH} and e.until > f.fired_at)))`,
  },
  {
    says: "where overlaps are not allowed, a slot fires only after the last task or run has ended",
    broken: `
      select ${SLOT} || ' fired ' || f.fired_at || ' beside ' || before.id || ' of slot ' || before.slot as detail
        from chaos.firing_journal f ${STATE_BEFORE} ${FIRED_BEFORE}
       where f.skipped is null and not f.triggered and state.overlap <> 'allow'
         and not exists (
           select from chaos.fired_ends e
            where e.id = before.id and e.since <= f.fired_at and e.until >= f.began_at)`,
  },
  {
    says: "a slot that waits for an end fires, unless its schedule is resumed or changed",
    broken: `
      select m.schedule as task, m.seq, 'slot ' || m.buffered_before || ' waited, then ' || coalesce(m.buffered_slot::text, 'none') as detail
        from chaos.schedule_journal m
       where m.op = 'UPDATE' and m.is_same_pattern and not (m.was_paused and not m.is_paused)
         and m.buffered_before is not null and m.buffered_slot is distinct from m.buffered_before
         and not exists (
           select from chaos.firing_journal f
            where f.schedule = m.schedule and f.xid = m.xid and f.slot = m.buffered_before and f.skipped is null)`,
  },
  {
    says: "no firing fails: nothing is wrong with any of these schedules",
    broken: `
      select schedule as task, seq, failures || ' failures: ' || coalesce(last_error, 'none') as detail
        from chaos.schedule_journal where failures > 0`,
  },
];
