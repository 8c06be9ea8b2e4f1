/** What happens when: attempts one after the other, nothing too early or too late, never more at once than a cap allows. */
import type { Law } from "./law.ts";

export const timeLaws: readonly Law[] = [
  {
    says: "attempts are numbered 1 to n without gaps",
    broken: `
      select task_id::text as task, seq, 'attempt_no ' || attempt_no || ' after ' || coalesce(run_before, 0) as detail
        from chaos.edges
       where (to_status = 'RUNNING' and attempt_no <> coalesce(run_before, 0) + 1)
          or (to_status = 'CLAIMED' and attempt_no <> coalesce(run_before, 0))
          -- Whoever ends without its body having run gives the number back.
          or (from_status in ('CLAIMED', 'RUNNING') and to_status not in ('CLAIMED', 'RUNNING')
              and attempt_no not in (run_before, run_before - case from_status when 'RUNNING' then 1 else 0 end))`,
  },
  {
    says: "every handler that began is kept as one attempt",
    broken: `
      select task_id::text as task, null::bigint as seq, 'attempts ' || string_agg(attempt_no::text, ', ' order by attempt_no) as detail
        from (
          select task_id, attempt_no from posthaste.attempts
          union all select task_id, coalesce(attempt_no, 1) from posthaste.active_tasks where started_at is not null
          union all select task_id, coalesce(attempt_no, 1) from posthaste.finished_tasks where started_at is not null
        ) as runs
       group by task_id having count(*) <> max(attempt_no) or min(attempt_no) <> 1 or count(distinct attempt_no) <> count(*)`,
  },
  {
    says: "two runs of a task never overlap",
    broken: `
      select later.task_id::text as task, later.run_seq as seq,
             'claim ' || later.claim_id || ' ran before claim ' || earlier.claim_id || ' had ended' as detail
        from chaos.claims later
        join chaos.claims earlier on earlier.task_id = later.task_id and earlier.run_seq < later.run_seq
       where earlier.end_seq is null or earlier.end_seq > later.run_seq
          or (earlier.end_committed_at > later.run_at and earlier.end_xid <> later.run_xid)`,
  },
  {
    says: "nothing starts after its deadline",
    broken: `
      select e.task_id::text as task, e.seq, 'started ' || e.started_at || ', good until ' || s.good_until as detail
        from chaos.edges e join posthaste.submissions s using (task_id)
       where e.to_status = 'RUNNING'
         and e.started_at > coalesce(
           (select t.good_until from posthaste.task_retries t
             where t.task_id = s.task_id and t.good_until is not null order by t.id desc limit 1), s.good_until)`,
  },
  {
    says: "nothing starts after it was cancelled",
    broken: `
      select e.task_id::text as task, e.seq, 'started at ' || e.seq || ', cancelled at ' || asked.seq as detail
        from chaos.edges e
        join (select task_id, min(seq) as seq from chaos.journal where cancel_requested_at is not null group by task_id) as asked
          using (task_id)
       where e.to_status in ('CLAIMED', 'RUNNING') and e.seq > asked.seq
         -- An operator's retry takes a cancellation back.
         and not exists (
           select from chaos.journal j
            where j.task_id = e.task_id and j.op = 'out' and j.status = 'CANCELLED' and j.seq between asked.seq and e.seq)`,
  },
  {
    says: "nothing is claimed before its time",
    broken: `
      select e.task_id::text as task, e.seq, 'claimed ' || coalesce(e.claimed_at, e.started_at) || ', due ' || e.due_before as detail
        from chaos.edges e
       where e.from_status = 'PENDING' and e.to_status in ('CLAIMED', 'RUNNING')
         and coalesce(e.claimed_at, e.started_at) < e.due_before
      union all
      select e.task_id::text, e.seq, 'claimed ' || coalesce(e.claimed_at, e.started_at) || ', first due ' || s.run_at
        from chaos.edges e join posthaste.submissions s using (task_id)
       where e.to_status in ('CLAIMED', 'RUNNING') and coalesce(e.claimed_at, e.started_at) < s.run_at
         and e.task_id not in (select task_id from chaos.retry_journal)
         and not exists (
           select from chaos.action_journal a where a.action = 'run now' and a.target = e.task_id::text)`,
  },
  {
    // A begin counts from when it was written, an end from its commit: strict, and never too strict, because who counts
    // for a cap sees only what was committed before.
    says: "no cap is exceeded",
    broken: `
      select task_id::text as task, seq, at_once || ' at once in ' || queue || ', allowed ' || cap as detail
        from (
          select moves.*, caps.cap, sum(delta) over (partition by moves.queue order by at, delta rows unbounded preceding) as at_once
            from (
              select task_id, queue, run_seq as seq, run_at as at, 1 as delta from chaos.claims where run_seq is not null
              union all
              select task_id, queue, end_seq, end_committed_at, -1 from chaos.claims
               where run_seq is not null and end_seq is not null
            ) as moves join chaos.caps using (queue)
        ) as sums
       where delta = 1 and at_once > cap`,
  },
];
