/** The claim statement: moves due tasks from ready_tasks to active_tasks. */
import { randomUUID } from "node:crypto";
import {
  bareStatement,
  parametersNamed,
  sql,
  type Db,
  type SqlText,
  type Statement,
} from "../../sql.ts";
import {
  completionParameters,
  completionSteps,
  completionValues,
  EXPIRED_ERROR,
} from "../settle/complete-tasks.ts";
import type { TaskEnd, SettleReply } from "../settle/settle-tasks.ts";
import {
  newClaimId,
  readClaimRows,
  type ClaimRow,
  claimedNode,
  type ClaimedNode,
} from "./claim-rows.ts";
import {
  isQueueOpen,
  isUncapped,
  RANKED_ALLOWED,
  RANKED_DUE,
  rankedSteps,
  rankParameters,
  rankValues,
  readOfEach,
  takeReady,
  type ClaimRules,
} from "./pick-ready.ts";

/** Where to look: one lane per queue and priority, in the order in which they are to be emptied. */
export interface ClaimLane {
  readonly queue: string;
  readonly priority: number;
  /** Lower ones are emptied first; lanes of the same place are emptied together, by time. Left out: as they are listed. */
  readonly place?: number;
  /** Nothing due is known to be older than this (epoch ms); -Infinity when nothing is known. */
  readonly mark: number;
}

export interface ClaimRequest {
  readonly lanes: readonly ClaimLane[];
  readonly limit: number;
  readonly workerId: string;
  /** Where the ids of its claims must be known beforehand. Left out: a new one. */
  readonly claimSeed?: string;
  /** The lease of prefetched tasks. */
  readonly leaseMs: number;
  /** Stores prefetched tasks that may run again after a crash as RUNNING: see `beginsAhead`. */
  readonly startsAhead?: boolean;
  /** Undefined: takes the first due tasks, lane after lane. */
  readonly rules?: ClaimRules | undefined;
  /** With rules: how many rows are read of each lane. Left out: as many as make sense. */
  readonly most?: readonly number[] | undefined;
}

export interface ClaimedTask {
  readonly id: string;
  /** With the task's id, names this claim of it. */
  readonly claimId: string;
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  /** Epoch ms. */
  readonly enqueuedAt: number;
  /** The number of this attempt, from 1. While the task is only CLAIMED: the number of attempts before it. */
  readonly attemptNo: number;
  readonly retryCount: number;
  /** JSON text, parsed in the attempt, so that invalid JSON fails its task. */
  readonly input: string;
  readonly options: string | null;
  /** Stored as RUNNING, and waiting in this worker for a slot. */
  readonly isStoredRunning?: boolean;
  /** Undefined: it is a plain task. */
  readonly node?: ClaimedNode | undefined;
}

export interface ClaimReply {
  readonly tasks: ClaimedTask[];
  /** Ids of expired tasks at the head of a lane, ended in the same statement. */
  readonly expired: string[];
  /** How long until the next task of these lanes is due; null if none is waiting. */
  readonly nextDueMs: number | null;
  /** It took as many as it asked for, so more may be due. */
  readonly isFull: boolean;
  /** Something due was left because a cap is reached: to be asked for again when something has ended. */
  readonly isHeldBack: boolean;
}

/** The parameters that every claim has. */
const claimParameters = ["queues", "priorities", "marks", "limit", "workerId", "seed"] as const;
/** The parameters that only a prefetching claim has. */
const leaseParameters = ["leaseMs", "startsAhead"] as const;

interface ClaimKind {
  readonly storedAs: "RUNNING" | "CLAIMED";
  readonly completes?: boolean;
  readonly isRanked?: boolean;
}

/**
 * Claims due tasks for a worker: stored as RUNNING for free slots, as CLAIMED when prefetched. pick-ready.ts chooses them.
 *
 * - `enqueued_at <= now` and the mark are index conditions, so the statement reads neither a million tasks due tomorrow nor dead rows
 *   that an old snapshot keeps.
 * - The LIMIT 1 of the look-up in submissions keeps the planner from a scan of that table.
 * - Rows come back in ctid order and are sorted in TypeScript, which also computes the ids of the claims (claimIdOf).
 */
function claimStatement(
  schema: SqlText,
  { storedAs, completes = false, isRanked = false }: ClaimKind,
): Statement {
  const isStoredRunning = storedAs === "RUNNING";
  const at = parametersNamed([
    ...claimParameters,
    ...(completes ? completionParameters : []),
    ...(isStoredRunning ? [] : leaseParameters),
    ...(isRanked ? rankParameters : []),
  ]);
  // The lanes come after the completions: a statement that waits for an active row must not hold ready rows meanwhile.
  const completion = completes ? sql`${completionSteps(schema, at)},` : sql``;
  const afterCompletion = completes ? sql`cross join ended` : sql``;
  const isLate = sql`coalesce(moved.good_until <= statement_timestamp(), false)`;
  const hasNoCap = isRanked ? isUncapped(at, sql`moved.queue`) : sql`true`;
  // A late row that is not ended here is a node and does not start: see `ClaimedNode.isLate`.
  const begins = isStoredRunning ? sql`not ${isLate}` : beginsAhead(at("startsAhead"), hasNoCap);
  const attemptNo = sql`coalesce(attempt_no, 0) + case when begins then 1 else 0 end`;
  const [leaseColumn, lease] = isStoredRunning
    ? [sql``, sql``]
    : [
        sql`, claim_expires_at`,
        sql`, case when not begins then statement_timestamp() + ${at("leaseMs")}::float8 * interval '1 millisecond' end`,
      ];
  const [beginsColumn, noColumn] = isStoredRunning ? [sql``, sql``] : [sql`, begins`, sql`, null`];
  const [cappedColumn, cappedValue] = isRanked
    ? [sql`, capped_queue`, sql`, case when ${at("isCounted")}::boolean then queue end`]
    : [sql``, sql``];
  const ranking = isRanked ? sql`${rankedSteps(schema, at)},` : sql``;
  const laneColumns = sql`${at("queues")}::text[], ${at("priorities")}::smallint[], ${at("marks")}::float8[]`;
  const lanes = isRanked
    ? sql`unnest(${laneColumns}, ${at("places")}::int[]) with ordinality as lane (queue, priority, mark, place, n)`
    : sql`unnest(${laneColumns}) as lane (queue, priority, mark)`;
  const order = isRanked ? sql`, lane.place, lane.n` : sql``;
  const ends = completes
    ? sql`, 'settled', (select settled from ended), 'cancelled', (select cancelled from ended)`
    : sql``;
  const ranks = isRanked ? sql`, 'due', ${RANKED_DUE}, 'allowed', ${RANKED_ALLOWED}` : sql``;

  return bareStatement(sql`
    with ${completion} lane as materialized (
      select lane.queue, lane.priority, to_timestamp(lane.mark / 1000) as mark ${order}
        from ${lanes} ${afterCompletion}
       where ${isQueueOpen(schema, sql`lane.queue`)}
    ), ${ranking} moved as (
      ${takeReady(schema, at("limit"), isRanked)}
    ), known as materialized (
      select moved.*, sent.name, sent.input, sent.options, sent.workflow_id, sent.node, ${begins} as begins,
             ${isLate} and sent.workflow_id is null as is_over
        from moved
        left join lateral (
          select name, input, options, workflow_id, node from ${schema}.submissions where task_id = moved.task_id limit 1
        ) as sent on true
    ), expired as (
      insert into ${schema}.finished_tasks
        (task_id, status, enqueued_at, finished_at, attempt_no, retry_count, crash_count, error_code, error, name, queue)
      select task_id, 'EXPIRED', enqueued_at, statement_timestamp(), attempt_no, retry_count, crash_count,
             'TASK_EXPIRED', ${EXPIRED_ERROR}, name, queue
        from known
       where is_over
      returning task_id
    ), claimed as (
      insert into ${schema}.active_tasks
        (task_id, claim_id, worker_id, enqueued_at, good_until, attempt_no, retry_count, crash_count, started_at,
         claimed_at ${leaseColumn} ${cappedColumn})
      select task_id, ${newClaimId(at("seed"))}, ${at("workerId")}::uuid, case when attempt_no is not null then enqueued_at end, good_until,
             case when attempt_no is not null then ${attemptNo} end, retry_count, crash_count,
             case when begins then statement_timestamp() end,
             case when not begins then statement_timestamp() end ${lease} ${cappedValue}
        from known
       where not is_over
    )
    select task_id, null::json, name, queue, priority, date_part('epoch', enqueued_at) * 1000, ${attemptNo}, retry_count, input,
           options, ${claimedNode(schema, sql`submission.good_until`)} ${beginsColumn}
      from known as submission
     where not is_over and name is not null
    union all
    select task_id, null, null, null, null, null, null, null, null, null, null ${noColumn} from expired
    union all
    select null,
           json_build_object(
             'nextDueMs', ceil(date_part('epoch', min(next.enqueued_at) - statement_timestamp()) * 1000) ${ends} ${ranks}),
           null, null, null, null, null, null, null, null, null ${noColumn}
      from lane
     cross join lateral (
       select ready.enqueued_at
         from ${schema}.ready_tasks as ready
        where ready.queue = lane.queue and ready.priority = lane.priority
          and ready.enqueued_at > statement_timestamp()
        order by ready.enqueued_at
        limit 1
     ) as next`);
}

/** A claim without rules takes the head of each lane; a claim with rules ranks candidates first. */
function claimStatements(schema: SqlText, kind: Pick<ClaimKind, "storedAs" | "completes">) {
  const plain = claimStatement(schema, kind);
  const ranked = claimStatement(schema, { ...kind, isRanked: true });

  return ({ rules }: ClaimRequest): Statement => (rules === undefined ? plain : ranked);
}

/** Claims for free slots (RUNNING), and prefetching claims (CLAIMED). */
export function claimTasks(schema: SqlText, storedAs: ClaimKind["storedAs"]) {
  const claims = claimStatements(schema, { storedAs });

  return async (db: Db, request: ClaimRequest): Promise<ClaimReply> => {
    const { claimSeed: seed = randomUUID() } = request;
    const lease = storedAs === "RUNNING" ? [] : [request.leaseMs, request.startsAhead ?? false];
    const values = [...claimValues(request, seed), ...lease, ...ruleValues(request)];
    return readClaimRows(await db.query<ClaimRow>(claims(request), values), request, seed).claim;
  };
}

/** One statement that ends completed tasks and claims tasks for their slots. */
export function completeAndClaim(schema: SqlText) {
  const claims = claimStatements(schema, { storedAs: "RUNNING", completes: true });

  return async (
    db: Db,
    completed: readonly TaskEnd[],
    request: ClaimRequest,
  ): Promise<{ settle: SettleReply; claim: ClaimReply }> => {
    const { claimSeed: seed = randomUUID() } = request;
    const ends = completionValues(completed);
    const values = [...claimValues(request, seed), ...ends, ...ruleValues(request)];
    return readClaimRows(await db.query<ClaimRow>(claims(request), values), request, seed);
  };
}

function ruleValues({
  lanes,
  limit,
  rules,
  most = readOfEach(lanes, limit),
}: ClaimRequest): unknown[] {
  return rules === undefined ? [] : rankValues(lanes, rules, most);
}

/** In the order of `claimParameters`. */
function claimValues({ lanes, limit, workerId }: ClaimRequest, seed: string): unknown[] {
  return [
    lanes.map((lane) => lane.queue),
    lanes.map((lane) => lane.priority),
    lanes.map((lane) => lane.mark),
    limit,
    workerId,
    seed,
  ];
}

/**
 * The status of a prefetched task. Usually CLAIMED: a second statement makes it RUNNING before the handler starts, because the status
 * decides what a crash means. A task with `onCrash: "requeue"` runs again after a crash in any case, so with `startAhead` it is stored as
 * RUNNING at once.
 *
 * Not for tasks with `goodUntil`, nodes, and queues with a cap: their start checks more. And not after a crash: a crash counts against all
 * tasks that the worker had prefetched, because it is unknown which of them had begun. That may happen once to a task that three crashes
 * end.
 *
 * True for a row of `moved`, with its `sent`, that is stored as RUNNING. `isWanted`: the parameter by which the worker asks for it.
 */
function beginsAhead(isWanted: SqlText, hasNoCap: SqlText): SqlText {
  return sql`${isWanted}::boolean and ${hasNoCap} and moved.good_until is null
               and coalesce(moved.crash_count, 0) = 0 and sent.workflow_id is null
               and coalesce(sent.options ->> 'onCrash', '') = 'requeue'
               and coalesce(sent.options ->> 'maxCrashes', '') not in ('1', '2')`;
}
