/** Where tasks are, and how they got there. */
import { TASK_TERMINAL_STATES } from "../../packages/posthaste/src/domain/task-lifecycle.ts";
import type { Law } from "./law.ts";

const TERMINAL = TASK_TERMINAL_STATES.map((status) => `'${status}'`).join(", ");

export const stateLaws: readonly Law[] = [
  {
    says: "every acknowledged send is in exactly one state table",
    broken: `
      select a.task_id::text as task, null::bigint as seq, count(state.task_id) || ' rows' as detail
        from (select distinct task_id from chaos.acknowledged) as a
        left join (
          select task_id from posthaste.ready_tasks
          union all select task_id from posthaste.active_tasks
          union all select task_id from posthaste.finished_tasks
        ) as state using (task_id)
       group by a.task_id having count(state.task_id) <> 1`,
  },
  {
    says: "every acknowledged send has its submission",
    broken: `
      select task_id::text as task, null::bigint as seq, 'none' as detail
        from (select task_id from chaos.acknowledged except select task_id from posthaste.submissions) as missing`,
  },
  {
    says: "a terminal state changes only by an operator's retry, and COMPLETED never",
    broken: `
      select task_id::text as task, min(seq) as seq, string_agg(op || ' ' || status, ', ' order by seq) as detail
        from chaos.journal j
       where status in (${TERMINAL})
       group by task_id
      having count(*) filter (where op = 'change') > 0
          or count(*) filter (where op = 'in') > count(*) filter (where op = 'out') + 1
          or count(*) filter (
            where op = 'out'
              and not exists (
                select from chaos.retry_journal r
                 where r.task_id = j.task_id and r.xid = j.xid and r.status = j.status)
              and not exists (select from chaos.deleted d where d.task_id = j.task_id and d.xid = j.xid)) > 0`,
  },
  {
    says: "only edges of the lifecycle occur",
    broken: `
      select task_id::text as task, seq, coalesce(from_status, 'nothing') || ' to ' || coalesce(to_status, 'nothing') as detail
        from chaos.edges e
       where not (is_first and from_status is null and to_status in ('PENDING', 'RUNNING'))
         and not exists (
           select from chaos.allowed_edges allowed
            where allowed.from_status = e.from_status and allowed.to_status = e.to_status)
         -- A node that had not begun when its run was paused: as if it had never been sent.
         and not (from_status in ('PENDING', 'CLAIMED') and to_status is null and exists (
           select from chaos.taken_back t where t.task_id = e.task_id and t.xid = e.xid))
         and not (to_status is null and from_status not in ('CLAIMED', 'RUNNING') and exists (
           select from chaos.deleted d where d.task_id = e.task_id and d.xid = e.xid))
         -- An operator gave it another place in its queue.
         and not (from_status = 'PENDING' and to_status = 'PENDING' and exists (
           select from chaos.action_journal a
            where a.xid = e.xid and a.action in ('run now', 'set priority') and a.target = e.task_id::text))`,
  },
  {
    says: "what the journal says last is what is stored",
    broken: `
      select coalesce(last.task_id, stored.id)::text as task, last.seq,
             coalesce(last.to_status, 'nothing') || ' written down, ' || coalesce(stored.status, 'nothing') || ' stored' as detail
        from (select distinct on (task_id) task_id, seq, to_status from chaos.edges order by task_id, place desc) as last
        full join posthaste.tasks as stored on stored.id = last.task_id
       where last.to_status is distinct from stored.status`,
  },
  {
    says: "a cancel that was answered cancelled or requested ends CANCELLED",
    broken: `
      select c.task_id::text as task, null::bigint as seq, c.answer || ', and yet ' || coalesce(f.status, 'COMPLETED') as detail
        from chaos.cancels c join posthaste.finished_tasks f using (task_id)
       where c.answer in ('cancelled', 'requested') and f.status is distinct from 'CANCELLED'
         and not exists (select from posthaste.task_retries t where t.task_id = c.task_id and t.status = 'CANCELLED')`,
  },
  {
    says: "whoever waited read what is stored",
    broken: `
      select w.task_id::text as task, null::bigint as seq, 'read ' || w.result::text || ', stored ' || coalesce(f.status, case when f.task_id is null then 'nothing' else 'COMPLETED' end)
             || coalesce(' ' || f.result::text, '') || coalesce(' ' || f.error_code, '') as detail
        from chaos.waits w left join posthaste.finished_tasks f using (task_id)
       where (f.task_id is null
          or (w.result -> 'ok')::boolean <> (f.status is null)
          or ((w.result -> 'ok')::boolean and w.result -> 'value' is distinct from f.result)
          or (not (w.result -> 'ok')::boolean and w.result -> 'error' ->> 'code' is distinct from f.error_code))
         -- An end that an operator took back stands for those who had read it.
         and not exists (
           select from posthaste.task_retries t
            where t.task_id = w.task_id and t.error_code = w.result -> 'error' ->> 'code')`,
  },
];

/** When faults are over and there was time to recover. */
export const settledLaws: readonly Law[] = [
  {
    says: "nothing due is left waiting",
    broken: `
      select task_id::text as task, null::bigint as seq, 'due since ' || enqueued_at as detail
        from posthaste.ready_tasks r
       where enqueued_at < clock_timestamp() - interval '5 seconds'
         and not exists (select from posthaste.queues q where q.queue = r.queue and paused_at is not null)`,
  },
  {
    says: "nothing is owned by a dead worker",
    broken: `
      select a.task_id::text as task, null::bigint as seq,
             'worker ' || a.worker_id || ' ' || coalesce(w.state, 'unknown') || ', last heartbeat '
             || coalesce(w.last_heartbeat_at::text, 'never') as detail
        from posthaste.active_tasks a left join posthaste.workers w using (worker_id)
       where w.state is null or w.state in ('dead', 'stopped')
          or w.last_heartbeat_at < clock_timestamp() - interval '10 seconds'`,
  },
];
