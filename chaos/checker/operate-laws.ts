/** The laws of operators: only a retry takes an end back, and every action counts the tasks that it changed. */
import type { Law } from "./law.ts";

/** The tasks of `actions` that each transaction changed, by \`changes\` (xid). */
function counted(says: string, actions: readonly string[], changes: string): Law {
  const names = actions.map((action) => `'${action}'`).join(", ");
  return {
    says,
    broken: `
      select coalesce(min(a.target), min(a.id)::text) as task, null::bigint as seq,
             'counted ' || coalesce(sum(a.more), 0) || ', changed ' || coalesce(min(c.changed), 0) || ' in ' || coalesce(a.xid, c.xid) as detail
        from (select * from chaos.action_journal where action in (${names}) and more <> 0) as a
        full join (select xid, count(*) as changed from (${changes}) as changes group by xid) as c using (xid)
       group by a.xid, c.xid having coalesce(sum(a.more), 0) <> coalesce(min(c.changed), 0)`,
  };
}

/** The rows that a task leaves behind, by table. */
const TABLES = [
  "ready_tasks",
  "active_tasks",
  "finished_tasks",
  "attempts",
  "task_retries",
  "progress",
] as const;

/** An answer that was lost may count an interval twice, and a killed worker loses what it has not written. */
const MOST_COUNTED_TWICE = 1.25;

export const operateLaws: readonly Law[] = [
  {
    says: "a retry takes one end back, and the task waits again with the number of its attempts",
    broken: `
      select r.task_id::text as task, moved.seq,
             r.status || ' of attempt ' || r.attempt_no || ': ' || moved.ends || ' ends left, ' || moved.begins || ' series began' as detail
        from chaos.retry_journal r
       cross join lateral (
         select max(j.seq) as seq,
                count(*) filter (where j.op = 'out' and j.status = r.status and j.claim_id is not distinct from r.claim_id) as ends,
                count(*) filter (where j.op = 'in' and j.status = 'PENDING' and j.attempt_no = r.attempt_no) as begins
           from chaos.journal j where j.task_id = r.task_id and j.xid = r.xid) as moved
       where moved.ends <> 1 or moved.begins <> 1`,
  },
  {
    says: "every retry is kept as long as its task",
    broken: `
      select coalesce(told.task_id, kept.task_id)::text as task, null::bigint as seq,
             coalesce(told.retries, 0) || ' retries, ' || coalesce(kept.retries, 0) || ' kept' as detail
        from (
          select task_id, count(*) as retries from chaos.retry_journal r
           where not exists (select from chaos.deleted d where d.task_id = r.task_id) group by task_id) as told
        full join (select task_id, count(*) as retries from posthaste.task_retries group by task_id) as kept using (task_id)
       where told.retries is distinct from kept.retries`,
  },
  {
    says: "a task is deleted only by an operator, while it waits or has ended",
    broken: `
      select d.task_id::text as task, null::bigint as seq, 'deleted in ' || d.xid as detail
        from chaos.deleted d
       where not exists (
               select from chaos.action_journal a
                where a.xid = d.xid and a.action = 'delete task' and a.target = d.task_id::text)
          or exists (
               select from chaos.journal j
                where j.task_id = d.task_id and j.xid = d.xid and j.status in ('CLAIMED', 'RUNNING'))`,
  },
  {
    says: "nothing stays of a task that was deleted",
    broken: TABLES.map(
      (table) => `
      select d.task_id::text as task, null::bigint as seq, 'a row in ${table}' as detail
        from chaos.deleted d join posthaste.${table} using (task_id)`,
    ).join(" union all "),
  },
  counted(
    "an action counts the tasks that it retried",
    ["retry task", "retry tasks"],
    "select xid from chaos.retry_journal",
  ),
  counted(
    "an action counts the tasks that it deleted",
    ["delete task"],
    "select xid from chaos.deleted",
  ),
  counted(
    "an action counts the copies that it sent",
    ["send again"],
    `select e.xid from chaos.edges e
      where e.is_first
        and (exists (select from posthaste.submissions s where s.task_id = e.task_id and s.copy_of is not null)
             or exists (select from chaos.deleted d where d.task_id = e.task_id and d.copy_of is not null))`,
  ),
  counted(
    "an action counts the tasks that it moved in their queue",
    ["run now", "set priority"],
    "select xid from chaos.edges where from_status = 'PENDING' and to_status = 'PENDING'",
  ),
  {
    // A second request to cancel a running task counts, and changes nothing.
    says: "an action counts the tasks that it cancelled",
    broken: `
      select min(a.id)::text as task, null::bigint as seq, 'counted ' || sum(a.more) || ', cancelled ' || min(done.tasks) as detail
        from chaos.action_journal a
       cross join lateral (
         select count(distinct j.task_id) as tasks from chaos.journal j
          where j.xid = a.xid and j.op <> 'out' and j.cancel_requested_at is not null) as done
       where a.action = 'cancel tasks'
       group by a.xid having sum(a.more) < min(done.tasks)`,
  },
  {
    says: "roll-ups count no more than has ended, and all that was cancelled before it ran",
    broken: `
      select 'rollups' as task, null::bigint as seq,
             rollups.ends || ' counted, ' || ends.ends || ' ended; ' || rollups.cancelled || ' counted as cancelled, at least '
             || waiting.cancelled || ' were' as detail
        from (select coalesce(sum(completed + failed + cancelled + expired), 0) as ends, coalesce(sum(cancelled), 0) as cancelled
                from posthaste.rollups) as rollups,
             (select count(*) as ends from chaos.edges
               where to_status not in ('PENDING', 'CLAIMED', 'RUNNING')) as ends,
             (select count(*) as cancelled from chaos.edges where from_status = 'PENDING' and to_status = 'CANCELLED') as waiting
       where rollups.ends > ends.ends * ${MOST_COUNTED_TWICE} or rollups.cancelled < waiting.cancelled`,
  },
];
