import type { CrashDecision } from "../../../domain/crash-policy.ts";
import type {
  HeldStatus,
  Interruption,
  InterruptionEvidence,
  RecoveryCause,
} from "../../../domain/interruption.ts";
import type { TaskFailure } from "../../../domain/result.ts";
import { sql, statement, uuidArray, type Db, type SqlText, type Statement } from "../../sql.ts";
import { attemptsSoFar } from "../claim/claim-rows.ts";
import { placeInQueue } from "../send/place-in-queue.ts";
import { CANCELLED_ERROR } from "../settle/complete-tasks.ts";
import { nameOfEnd } from "../settle/name-of-end.ts";
import { countEnds } from "../statistics/count-ends.ts";
import {
  causeTexts,
  criteriaValues,
  type CauseText,
  type RecoveryCriteria,
} from "./recovery-causes.ts";

/** A task that its worker holds and should not any more. */
export interface FoundTask extends Omit<Interruption, "cause"> {
  readonly id: string;
  readonly claimId: string;
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  readonly status: HeldStatus;
  readonly attemptNo: number;
  readonly retryCount: number;
  readonly crashCount: number;
  readonly isStarted: boolean;
  /** For how long, by the database's clock. */
  readonly ranMs: number;
  readonly isCancelRequested: boolean;
  /** The run of a node. */
  readonly isNode: boolean;
  readonly msUntilDeadline: number | null;
  /** JSON text, as are options and flags. */
  readonly input: string;
  readonly options: string | null;
  readonly flags: string | null;
}

/** The decision about a task. */
export interface TaskRecovery {
  readonly id: string;
  readonly claimId: string;
  readonly decision: CrashDecision;
  readonly evidence: InterruptionEvidence;
  /** The error of the attempt. */
  readonly error: TaskFailure;
}

/** The applied decision. Missing tasks were renewed, ended or recovered by another worker meanwhile. */
export interface AppliedRecovery {
  readonly id: string;
  readonly claimId: string;
  readonly queue: string;
  readonly priority: number;
  readonly decision: CrashDecision["decision"];
  /** When it is due again; of a task that is left alone, until when. Null: it has ended. */
  readonly dueAt: Date | null;
  /** Negative: it kept its old place in the queue. */
  readonly dueMs: number | null;
}

/**
 * Recovers tasks of workers that crashed, fell silent or shut down: one statement finds them, one moves them.
 *
 * They are separate because a hook may decide, and a hook must not run under a lock. So the moving statement checks again: the same
 * claim, and the same condition, on the row as it is now. A renewed task is left alone. Any number of recoveries may run at once: rows
 * are locked in id order and locked ones are skipped, so one of them moves each task.
 *
 * Both read all active tasks (through active_tasks_id_idx or a scan: the table is small). `recoveries` is read by recoveries_task_idx.
 */
export function recoverTasks(schema: SqlText) {
  const FIND = eachCause(causeTexts(schema, 3), (cause) => findText(schema, cause));
  const APPLY = eachCause(causeTexts(schema, 4), (cause, name) =>
    applyText(schema, cause, name === "shutdown"),
  );

  return {
    /** In id order, after `afterId`: a skipped task does not come again. */
    find: (
      db: Db,
      criteria: RecoveryCriteria,
      page: { readonly limit: number; readonly afterId: string },
    ): Promise<FoundTask[]> =>
      db.query<FoundTask>(FIND[criteria.cause], [
        page.afterId,
        page.limit,
        ...criteriaValues(criteria),
      ]),
    /** @param recoveredBy the id of a worker, or "admin" */
    apply: (
      db: Db,
      criteria: RecoveryCriteria,
      recoveries: readonly TaskRecovery[],
      recoveredBy: string,
    ): Promise<AppliedRecovery[]> =>
      db.query<AppliedRecovery>(APPLY[criteria.cause], [
        uuidArray(recoveries.map(({ id }) => id)),
        JSON.stringify(Object.fromEntries(recoveries.map(decisionOf))),
        recoveredBy,
        ...criteriaValues(criteria),
      ]),
  };
}

function eachCause(
  texts: Readonly<Record<RecoveryCause, CauseText>>,
  make: (cause: CauseText, name: string) => SqlText,
): Record<RecoveryCause, Statement> {
  const made = Object.entries(texts).map(([name, cause]) => [name, statement(make(cause, name))]);
  return Object.fromEntries(made) as Record<RecoveryCause, Statement>;
}

/** A claim that a hook wants left alone is left alone by all, until its time. A cancellation that was promised is not. */
function isOpen(schema: SqlText): SqlText {
  return sql`(held.cancel_requested_at is not null or not exists (
    select from ${schema}.recoveries as earlier
     where earlier.task_id = held.task_id and earlier.claim_id = held.claim_id and earlier.decision = 'skip'
       and earlier.due_at > statement_timestamp()))`;
}

/** `offset 0` keeps the look at earlier recoveries behind the condition: asked of every row, it cost five pages each. */
function findText(schema: SqlText, { join, condition, ...cause }: CauseText): SqlText {
  return sql`
    select found.*, sent.queue as "queue", sent.priority as "priority", sent.name as "name", sent.input as "input",
           sent.options as "options", sent.flags as "flags",
           sent.workflow_id is not null as "isNode",
           registered.hostname as "hostname", registered.pid as "pid",
           registered.loop_blocked_ms as "loopBlockedMs", statement_timestamp() as "detectedAt"
      from (
        select held.task_id as "id", held.claim_id as "claimId",
               case when held.started_at is null then 'CLAIMED' else 'RUNNING' end as "status",
               ${attemptsSoFar(sql`held`)} as "attemptNo", coalesce(held.retry_count, 0) as "retryCount",
               coalesce(held.crash_count, 0) as "crashCount", held.started_at is not null as "isStarted",
               coalesce(date_part('epoch', statement_timestamp() - held.started_at) * 1000, 0) as "ranMs",
               held.cancel_requested_at is not null as "isCancelRequested",
               date_part('epoch', held.good_until - statement_timestamp()) * 1000 as "msUntilDeadline",
               held.worker_id as "workerId", held.last_sign_at as "lastHeartbeatAt",
               held.threshold_ms as "thresholdMs"
          from (
            select held.*, ${cause.lastSignAt} as last_sign_at, ${cause.thresholdMs} as threshold_ms
              from ${schema}.active_tasks as held ${join}
             where held.task_id > $1::uuid and ${condition}
            offset 0
          ) as held
         where ${isOpen(schema)}
         order by held.task_id
         limit $2
      ) as found
      join ${schema}.submissions as sent on sent.task_id = found.id
      left join ${schema}.workers as registered on registered.worker_id = found."workerId"
     order by found.id`;
}

/**
 * Overrides are those of decideCrash(): a requested cancellation wins over everything, and what could not run again before
 * its deadline has failed. claim_id stays empty in finished_tasks where it was not the claim's owner that wrote the end.
 */
function applyText(schema: SqlText, cause: CauseText, isOwner: boolean): SqlText {
  const outcome = isOwner ? sql`'INTERRUPTED'` : sql`'WORKER_FAILURE'`;
  const crashes = isOwner
    ? sql`crash_count`
    : sql`case when started_at is null then crash_count else coalesce(crash_count, 0) + 1 end`;
  return sql`
    with picked as materialized (
      select held.*, $2::jsonb -> held.task_id::text as given
        from ${schema}.active_tasks as held ${cause.join}
       where held.task_id = any ($1::uuid[])
         and held.claim_id = ($2::jsonb -> held.task_id::text ->> 'claim')::uuid
         and ${cause.condition} and ${isOpen(schema)}
       order by held.task_id
       ${cause.locks}
    ), left_alone as materialized (
      select picked.*, ${attemptsSoFar(sql`picked`)} as attempts, sent.queue, sent.priority,
             statement_timestamp() + (given -> 'delay')::float8 * interval '1 millisecond' as due_at
        from picked left join lateral ${placeInQueue(schema, sql`picked.task_id`)} as sent on true
       where given ->> 'decision' = 'skip' and cancel_requested_at is null
    ), gone as (
      delete from ${schema}.active_tasks
       where task_id = any (array(
         select task_id from picked where task_id not in (select task_id from left_alone)))
      returning *, $2::jsonb -> task_id::text as given
    ), heard as materialized (
      select gone.*, ${attemptsSoFar(sql`gone`)} as attempts, sent.queue, sent.priority, given ->> 'decision' as wanted,
             ${crashes} as crashes,
             coalesce((given ->> 'runAt')::timestamptz,
                      statement_timestamp() + (given -> 'delay')::float8 * interval '1 millisecond',
                      enqueued_at, sent.first_due_at) as due_at
        from gone left join lateral ${placeInQueue(schema, sql`gone.task_id`)} as sent on true
    ), verdict as materialized (
      select heard.*,
             case when cancel_requested_at is not null then 'CANCELLED'
                  when wanted = 'release' then 'PENDING'
                  when wanted in ('requeue', 'retry')
                   and coalesce(greatest(due_at, statement_timestamp()) < good_until, true) then 'PENDING'
                  else 'FAILED' end as outcome
        from heard
    ), finished as (
      insert into ${schema}.finished_tasks
        (task_id, status, enqueued_at, claimed_at, started_at, finished_at, claim_id, worker_id, attempt_no, retry_count,
         crash_count, cancel_requested_at, error_code, error, name, queue)
      select task_id, outcome, enqueued_at, claimed_at, started_at, statement_timestamp(),
             ${isOwner ? sql`claim_id` : sql`null`}, worker_id, attempts, retry_count, crashes, cancel_requested_at,
             case when outcome = 'CANCELLED' then 'TASK_CANCELLED' else given -> 'error' ->> 'code' end,
             case when outcome = 'CANCELLED' then ${CANCELLED_ERROR} else given -> 'error' end,
             named.name, verdict.queue
        from verdict
        left join lateral ${nameOfEnd(schema, sql`verdict.task_id`)} as named on true
       where outcome <> 'PENDING'
      returning name, queue, status
    ), counted as (${countEnds(schema, sql`finished`)}
    ), attempted as (
      insert into ${schema}.attempts
        (task_id, attempt_no, claim_id, worker_id, claimed_at, started_at, finished_at, outcome, error_code, error)
      select task_id, attempts, claim_id, worker_id, coalesce(claimed_at, started_at), started_at,
             statement_timestamp(), ${outcome}, given -> 'error' ->> 'code', given -> 'error'
        from verdict
       where outcome = 'PENDING' and started_at is not null
    ), back as (
      insert into ${schema}.ready_tasks
        (task_id, queue, priority, enqueued_at, good_until, attempt_no, retry_count, crash_count)
      select task_id, queue, priority, due_at, good_until, attempts,
             case when wanted = 'retry' then coalesce(retry_count, 0) + 1
                  else coalesce((given -> 'retries')::int, retry_count) end, crashes
        from verdict
       where outcome = 'PENDING'
    ), done as materialized (
      select task_id, claim_id, worker_id, attempts, started_at, queue, priority, given,
             case outcome when 'CANCELLED' then 'cancel' when 'FAILED' then 'fail' else wanted end as decision,
             case outcome when 'PENDING' then due_at end as due_at
        from verdict
      union all
      select task_id, claim_id, worker_id, attempts, started_at, queue, priority, given, 'skip', due_at from left_alone
    ), remembered as (
      insert into ${schema}.recoveries
        (task_id, claim_id, worker_id, recovered_at, due_at, attempt_no, status, reason, decision, recovered_by, evidence)
      select task_id, claim_id, worker_id, statement_timestamp(), due_at, attempts,
             case when started_at is null then 'CLAIMED' else 'RUNNING' end, ${cause.word}, decision, $3,
             given -> 'evidence'
        from done
       order by task_id
    )
    select task_id as "id", claim_id as "claimId", queue as "queue", priority as "priority", decision as "decision",
           due_at as "dueAt", ceil(date_part('epoch', due_at - statement_timestamp()) * 1000) as "dueMs"
      from done
     order by task_id`;
}

/** The decisions by id. A delay of 0 is left out: the task keeps its place in the queue. */
function decisionOf({ id, claimId, decision, evidence, error }: TaskRecovery): [string, object] {
  return [id, { claim: claimId, ...wordsOf(decision), evidence, error }];
}

function wordsOf(decided: CrashDecision): object {
  const { decision } = decided;
  switch (decision) {
    case "requeue": {
      const { due, retries } = decided;
      const when =
        "runAt" in due
          ? { runAt: due.runAt.toISOString() }
          : due.delayMs > 0
            ? { delay: due.delayMs }
            : {};
      return { decision, ...when, ...(retries === undefined ? {} : { retries }) };
    }
    case "retry":
    case "skip":
      return { decision, delay: decided.delayMs };
    case "release":
    case "fail":
    case "cancel":
      return { decision };
  }
}
