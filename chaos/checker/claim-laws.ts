/** Who may write what: nothing is done in the name of a claim but by its owner, and while it is held. */
import type { Law } from "./law.ts";

export const claimLaws: readonly Law[] = [
  {
    says: "a result was written by the claim it names",
    broken: `
      select e.task_id::text as task, e.seq, 'ended by ' || e.claim_id || ', held by ' || coalesce(e.claim_before::text, 'nobody') as detail
        from chaos.edges e
       where e.from_status in ('CLAIMED', 'RUNNING') and e.to_status not in ('PENDING', 'CLAIMED', 'RUNNING')
         and e.claim_id is not null and e.claim_id is distinct from e.claim_before
      union all
      select task_id::text, null, 'COMPLETED by nobody' from posthaste.finished_tasks
       where status is null and claim_id is null`,
  },
  {
    says: "a value or an error comes from the handler of the claim that it is stored under",
    broken: `
      select task_id::text as task, null::bigint as seq, 'said by ' || (result ->> 'claim') || ', stored under ' || claim_id as detail
        from posthaste.finished_tasks
       where status is null and result ->> 'claim' is distinct from claim_id::text
      union all
      select task_id::text, null, 'error said by ' || (error -> 'data' ->> 'claim') || ', stored under ' || coalesce(claim_id::text, 'none')
        from posthaste.finished_tasks
       where error -> 'data' ->> 'claim' is distinct from claim_id::text and error -> 'data' ->> 'claim' is not null
      union all
      select task_id::text, null, 'attempt ' || attempt_no || ' said by ' || (error -> 'data' ->> 'claim') || ', stored under ' || claim_id
        from posthaste.attempts
       where error -> 'data' ->> 'claim' is distinct from claim_id::text and error -> 'data' ->> 'claim' is not null`,
  },
  {
    says: "an attempt that is kept was run by the claim it names",
    broken: `
      select a.task_id::text as task, c.run_seq as seq, 'attempt ' || a.attempt_no || ' of claim ' || a.claim_id as detail
        from posthaste.attempts a left join chaos.claims c using (task_id, claim_id)
       where a.claim_id is not null
         and (c.attempt_no is distinct from a.attempt_no or c.worker_id is distinct from a.worker_id)`,
  },
  {
    says: "a claim is made once",
    broken: `
      select task_id::text as task, begin_seq as seq, claim_id || ' ' || begins || ' times' as detail
        from chaos.claims where begins <> 1`,
  },
  {
    says: "a child was sent while its parent held the claim that sent it",
    broken: `
      select child.task_id::text as task, sent.seq,
             'sent at ' || sent.seq || ' by a claim held from ' || coalesce(c.run_seq::text, 'never') || ' to '
             || coalesce(c.end_seq::text, 'now') as detail
        from posthaste.submissions child
        join (select task_id, min(seq) as seq from chaos.journal group by task_id) as sent using (task_id)
        left join chaos.claims c on c.task_id = (child.input ->> 'parent')::uuid and c.claim_id = (child.input ->> 'claim')::uuid
       where child.input ->> 'parent' is not null
         and (c.run_seq is null or c.run_seq > sent.seq or c.end_seq < sent.seq)`,
  },
  {
    says: "progress was told by the claim whose attempt it is stored for",
    broken: `
      select p.task_id::text as task, null::bigint as seq,
             'told by ' || (p.value ->> 'claim') || ' for attempt ' || p.attempt_no || ' of ' || coalesce(c.claim_id::text, 'nobody') as detail
        from posthaste.progress p
        left join chaos.claims c on c.task_id = p.task_id and c.claim_id = (p.value ->> 'claim')::uuid
       where c.attempt_no is distinct from p.attempt_no`,
  },
  {
    says: "a heartbeat came from the worker that had made the claim",
    broken: `
      select h.task_id::text as task, c.begin_seq as seq, 'sent by ' || h.sender_id || ' for a claim of ' || coalesce(c.worker_id::text, 'nobody') as detail
        from posthaste.heartbeats h left join chaos.claims c using (task_id, claim_id)
       where c.worker_id is distinct from h.sender_id`,
  },
  {
    says: "every COMPLETED task has an effect of the claim that completed it",
    broken: `
      select f.task_id::text as task, null::bigint as seq, 'none under ' || f.claim_id as detail
        from posthaste.finished_tasks f
       where f.status is null
         and not exists (select from chaos.effects e where e.task_id = f.task_id and e.claim_id = f.claim_id)`,
  },
  {
    says: "no effect happened under a claim that the database never issued",
    broken: `
      select e.task_id::text as task, c.begin_seq as seq, 'claim ' || e.claim_id || ', attempt ' || e.attempt_no as detail
        from chaos.effects e left join chaos.claims c using (task_id, claim_id)
       where c.attempt_no is distinct from e.attempt_no or c.worker_id is distinct from e.worker_id`,
  },
  {
    says: "a claim runs its handler once",
    broken: `
      select task_id::text as task, null::bigint as seq, count(*) || ' effects of claim ' || claim_id as detail
        from chaos.effects group by task_id, claim_id having count(*) > 1`,
  },
  {
    says: "a task that must not be repeated after a crash has one effect at most",
    broken: `
      select task_id::text as task, null::bigint as seq, count(distinct claim_id) || ' claims' as detail
        from chaos.effects where name like 'once%'
         and task_id not in (select task_id from posthaste.task_retries)
       group by task_id having count(distinct claim_id) > 1`,
  },
  {
    says: "what is written in the transaction of a completion is written exactly once",
    broken: `
      select coalesce(p.task_id, f.task_id)::text as task, null::bigint as seq,
             coalesce(p.times, 0) || ' payments of a task that is ' || coalesce(f.status, 'not COMPLETED') as detail
        from (select task_id, count(*) as times, min(claim_id::text)::uuid as claim_id from chaos.paid group by task_id) as p
        full join (
          select f.task_id, 'COMPLETED' as status, f.claim_id
            from posthaste.finished_tasks f join posthaste.submissions s using (task_id)
           where f.status is null and s.name like 'pay%'
        ) as f using (task_id)
       where p.times is distinct from 1 or f.status is null or p.claim_id is distinct from f.claim_id`,
  },
];
