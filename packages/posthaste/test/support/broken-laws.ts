/** The laws that hold after anything, as far as rows at rest can show them. */
import { BROKEN_WORKFLOW_LAWS } from "./broken-workflow-laws.ts";

export interface BrokenLaw {
  readonly law: string;
  /** Or a run. */
  readonly task: string;
  readonly figure: number;
}

export async function brokenLaws(
  sql: (text: string) => Promise<BrokenLaw[]>,
): Promise<BrokenLaw[]> {
  const ofTasks = await sql(
    `${CONSERVED} union all ${COUNTED} union all ${IN_PLACE} union all ${IN_TIME}`,
  );
  ofTasks.push(...(await sql(RETRIED)));
  return [...ofTasks, ...(await sql(BROKEN_WORKFLOW_LAWS))];
}

/** A task is in exactly one state. */
const CONSERVED = `
  select 'not in exactly one state table' as law, s.task_id::text as task,
         (r.task_id is not null)::int + (a.task_id is not null)::int + (f.task_id is not null)::int as figure
    from posthaste.submissions s
    left join posthaste.ready_tasks r using (task_id)
    left join posthaste.active_tasks a using (task_id)
    left join posthaste.finished_tasks f using (task_id)
   where (r.task_id is not null)::int + (a.task_id is not null)::int + (f.task_id is not null)::int <> 1
  union all
  select 'state without a submission', coalesce(r.task_id, a.task_id, f.task_id)::text, 0
    from posthaste.ready_tasks r
    full join posthaste.active_tasks a using (task_id)
    full join posthaste.finished_tasks f using (task_id)
   where not exists (select from posthaste.submissions s where s.task_id = coalesce(r.task_id, a.task_id, f.task_id))`;

const RUNS = "coalesce(attempt_no, (started_at is not null)::int)";

/** A row of any state table, with what its nulls mean. */
const STATE = `(
  select task_id, coalesce(attempt_no, 0) as attempt_no, retry_count, crash_count, false as has_run
    from posthaste.ready_tasks
  union all
  select task_id, ${RUNS}, retry_count, crash_count, started_at is not null from posthaste.active_tasks
  union all
  select task_id, ${RUNS}, retry_count, crash_count, started_at is not null from posthaste.finished_tasks
)`;

/** Every handler that began is one attempt, and counters count. */
const COUNTED = `
  select 'attempts are not 1…n without gaps', task_id::text, count(*)::int
    from (
      select task_id, attempt_no from posthaste.attempts
      union all select task_id, ${RUNS} from posthaste.active_tasks where started_at is not null
      union all select task_id, ${RUNS} from posthaste.finished_tasks where started_at is not null
    ) as runs
   group by task_id having count(*) <> max(attempt_no) or min(attempt_no) <> 1 or count(distinct attempt_no) <> count(*)
  union all
  select 'attempt_no is not the number of handlers that began', state.task_id::text, state.attempt_no
    from ${STATE} as state
    left join (select task_id, count(*) as kept from posthaste.attempts group by task_id) as attempts using (task_id)
   where state.attempt_no <> coalesce(attempts.kept, 0) + state.has_run::int
  union all
  select 'a counter below zero', task_id::text, least(retry_count, crash_count)
    from ${STATE} as state
   where retry_count < 0 or crash_count < 0
  union all
  select 'never claimed, and yet a retry or a crash', task_id::text, retry_count
    from posthaste.ready_tasks
   where attempt_no is null and (retry_count > 0 or crash_count > 0)`;

/** The last deadline that an operator's retry gave it, or the one it was sent with. */
const DEADLINE = `coalesce((
  select t.good_until from posthaste.task_retries t
   where t.task_id = s.task_id and t.good_until is not null order by t.id desc limit 1), s.good_until)`;

/** A row that its submission describes is found where the submission says. */
const IN_PLACE = `
  select 'a ready row that was never claimed does not stand where its submission says', task_id::text, 0
    from posthaste.submissions s join posthaste.ready_tasks r using (task_id)
   where r.attempt_no is null
     and (r.queue, r.priority, r.enqueued_at) is distinct from (s.queue, s.priority, coalesce(s.run_at, s.sent_at))
  union all
  select 'a first due time that is not later than the sending', task_id::text, 0
    from posthaste.submissions where run_at <= sent_at
  union all
  select 'not in the line that it was sent to', task_id::text, 0
    from posthaste.submissions s join posthaste.ready_tasks r using (task_id)
   where (r.queue, r.good_until) is distinct from (s.queue, ${DEADLINE})
      or (r.priority <> s.priority and not exists (
        select from posthaste.operator_actions o where o.action = 'set priority' and o.target = s.task_id::text))
  union all
  select 'not under the cap or the deadline that it was sent with', task_id::text, 0
    from posthaste.submissions s join posthaste.active_tasks a using (task_id)
   where (coalesce(a.capped_queue, s.queue), a.good_until) is distinct from (s.queue, ${DEADLINE})
  union all
  select 'came back into the line, and yet no due time of its own', task_id::text, 0
    from posthaste.active_tasks
   where enqueued_at is null and (attempt_no is not null or retry_count is not null or crash_count is not null)`;

/** Every end that an operator took back is written down, as an attempt too if a handler had run. */
const RETRIED = `
  select 'an attempt that ended its task, and no retry of it' as law, task_id::text as task, attempt_no as figure
    from posthaste.attempts a
   where ended_task and not exists (
     select from posthaste.task_retries t
      where t.task_id = a.task_id and t.attempt_no = a.attempt_no and t.status = a.outcome)
  union all
  select 'a retry of a node, or of a task that is not there', t.task_id::text, t.attempt_no
    from posthaste.task_retries t
    left join posthaste.submissions s using (task_id)
   where s.task_id is null or s.workflow_id is not null`;

/** Claims as they are and were, with what their nulls mean. */
const CLAIMS = `(
  select task_id, coalesce(enqueued_at, run_at, sent_at) as enqueued_at, coalesce(claimed_at, started_at) as claimed_at,
         started_at, null as finished_at
    from posthaste.active_tasks join posthaste.submissions using (task_id)
  union all
  select task_id, coalesce(enqueued_at, run_at, sent_at), coalesce(claimed_at, started_at), started_at, finished_at
    from posthaste.finished_tasks join posthaste.submissions using (task_id)
  union all
  select task_id, null, claimed_at, started_at, finished_at from posthaste.attempts
)`;

/** First due, then claimed, then started, then finished; and the deadline before the start. */
const IN_TIME = `
  select 'started after its deadline', s.task_id::text, 0
    from posthaste.submissions s join posthaste.finished_tasks f using (task_id)
   where f.started_at > ${DEADLINE} and coalesce(f.retry_count, 0) = 0
  union all
  select 'claimed before its time', task_id::text, 0
    from ${CLAIMS} as claim where claimed_at < enqueued_at
  union all
  select 'started before it was claimed, or finished before that', task_id::text, 0
    from ${CLAIMS} as claim where started_at < claimed_at or finished_at < coalesce(started_at, claimed_at)
  union all
  select 'a claim without a worker, or a worker without a claim', task_id::text, 0
    from posthaste.finished_tasks
   where (worker_id is null) <> (coalesce(claimed_at, started_at) is null)
  union all
  select 'a lease on a started task, or none on one that was only claimed', task_id::text, 0
    from posthaste.active_tasks where (claim_expires_at is null) <> (started_at is not null)`;
