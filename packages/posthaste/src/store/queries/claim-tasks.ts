import { randomUUID } from "node:crypto";
import { bareStatement, parameter, sql, type Db, type SqlText, type Statement } from "../sql.ts";
import { completionSteps, completionValues, EXPIRED_ERROR } from "./complete-tasks.ts";
import {
  isCountedParameter,
  isUncapped,
  isRunning,
  RANKED_ALLOWED,
  RANKED_DUE,
  rankedSteps,
  rankedValues,
  readOfEach,
  takeReady,
  type ClaimRules,
} from "./pick-ready.ts";
import { beginsAhead } from "./born-ahead.ts";
import { NEW_CLAIM_ID } from "./claim-id.ts";
import { readClaimRows, type ClaimRow } from "./claim-rows.ts";
import { claimedNode, type ClaimedNode } from "./claimed-node.ts";
import type { SettledTask, SettleReply } from "./settle-tasks.ts";

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
  /** How long what is fetched ahead stays its worker's, unless it is renewed. */
  readonly leaseMs: number;
  /** What is fetched ahead and may be run again after a crash is stored as running at once: see born-ahead.ts. */
  readonly startsAhead?: boolean;
  /** Undefined: whatever is first in line is taken, lane after lane. */
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
  /** This body's number, 1 for the first; 0-based while the task is only claimed. */
  readonly attemptNo: number;
  readonly retryCount: number;
  /** JSON text, parsed where a failure to parse can be blamed on the task. */
  readonly input: string;
  readonly options: string | null;
  /** Fetched ahead, and stored as running: its body begins as soon as there is a slot. */
  readonly isStarted?: boolean;
  /** Undefined: it is a plain task. */
  readonly node?: ClaimedNode | undefined;
}

export interface ClaimReply {
  readonly tasks: ClaimedTask[];
  /** Ids whose deadline had passed: taken from the head of the line and ended in the same statement. */
  readonly expired: string[];
  /** How long until the next task of these lanes is due; null if none is waiting. */
  readonly nextDueMs: number | null;
  /** It took what it could, so there may be more to take at once. */
  readonly isFull: boolean;
  /** Something due was left because a cap is reached: to be asked for again when something has ended. */
  readonly isHeldBack: boolean;
}

interface ClaimKind {
  readonly born: "RUNNING" | "CLAIMED";
  readonly completes?: boolean;
  readonly isRanked?: boolean;
}

/**
 * Takes due tasks for a worker: born RUNNING where a slot is free now, born CLAIMED where they are fetched ahead. Which
 * ones, see pick-ready.ts.
 *
 * - `enqueued_at <= now` and the mark are index conditions, so neither a million tasks due tomorrow nor the dead rows
 *   that somebody's old snapshot keeps are walked.
 * - The LIMIT 1 of the look-up in submissions keeps the planner from turning it round into a scan of that table.
 * - What is taken comes back in ctid order and is sorted in TypeScript. Its claims' ids are known there: see claimIdOf.
 */
function claimStatement(
  schema: SqlText,
  { born, completes = false, isRanked = false }: ClaimKind,
): Statement {
  const isStarted = born === "RUNNING";
  // The lanes wait for the completions: whoever waits for an active row must not hold ready rows meanwhile.
  const completion = completes ? sql`${completionSteps(schema, 7)},` : sql``;
  const afterCompletion = completes ? sql`cross join ended` : sql``;
  const [settled, cancelled] = completes
    ? [sql`(select settled from ended)`, sql`(select cancelled from ended)`]
    : [sql`null`, sql`null`];
  const isLate = sql`coalesce(moved.good_until <= statement_timestamp(), false)`;
  // Behind the six that every claim has: those of the completions or of the lease, then those of the ranking.
  const ranks = 7 + (completes ? 3 : isStarted ? 0 : 2);
  const isFree = isRanked ? isUncapped(ranks + 1, sql`moved.queue`) : sql`true`;
  // What is late here and no end yet is a node, and does not start: see claimed-node.ts.
  const begins = isStarted ? sql`not ${isLate}` : beginsAhead(isFree);
  const attemptNo = sql`coalesce(attempt_no, 0) + case when begins then 1 else 0 end`;
  const [leaseColumn, lease] = isStarted
    ? [sql``, sql``]
    : [
        sql`, claim_expires_at`,
        sql`, case when not begins then statement_timestamp() + $7::float8 * interval '1 millisecond' end`,
      ];
  const [beginsColumn, noColumn] = isStarted ? [sql``, sql``] : [sql`, begins`, sql`, null`];
  const places = parameter(ranks);
  const [cappedColumn, cappedValue] = isRanked
    ? [sql`, capped_queue`, sql`, case when ${isCountedParameter(ranks + 1)} then queue end`]
    : [sql``, sql``];
  const ranking = isRanked ? sql`${rankedSteps(schema, ranks + 1)},` : sql``;
  const lanes = isRanked
    ? sql`unnest($1::text[], $2::smallint[], $3::float8[], ${places}::int[]) with ordinality
           as lane (queue, priority, mark, place, n)`
    : sql`unnest($1::text[], $2::smallint[], $3::float8[]) as lane (queue, priority, mark)`;
  const order = isRanked ? sql`, lane.place, lane.n` : sql``;
  const [due, allowed] = isRanked ? [RANKED_DUE, RANKED_ALLOWED] : [sql`null`, sql`null`];

  return bareStatement(sql`
    with ${completion} lane as materialized (
      select lane.queue, lane.priority, to_timestamp(lane.mark / 1000) as mark ${order}
        from ${lanes} ${afterCompletion}
       where ${isRunning(schema)}
    ), ${ranking} moved as (
      ${takeReady(schema, isRanked)}
    ), known as materialized (
      select moved.*, sent.name, sent.input, sent.options, sent.workflow_id, sent.node, ${begins} as begins,
             ${isLate} and sent.workflow_id is null as is_over
        from moved
        left join lateral (
          select name, input, options, workflow_id, node from ${schema}.submissions where task_id = moved.task_id limit 1
        ) as sent on true
    ), expired as (
      insert into ${schema}.finished_tasks
        (task_id, status, enqueued_at, finished_at, attempt_no, retry_count, crash_count, error_code, error)
      select task_id, 'EXPIRED', enqueued_at, statement_timestamp(), attempt_no, retry_count, crash_count,
             'TASK_EXPIRED', ${EXPIRED_ERROR}
        from known
       where is_over
      returning task_id
    ), claimed as (
      insert into ${schema}.active_tasks
        (task_id, claim_id, worker_id, enqueued_at, good_until, attempt_no, retry_count, crash_count, started_at,
         claimed_at ${leaseColumn} ${cappedColumn})
      select task_id, ${NEW_CLAIM_ID}, $5::uuid, case when attempt_no is not null then enqueued_at end, good_until,
             case when attempt_no is not null then ${attemptNo} end, retry_count, crash_count,
             case when begins then statement_timestamp() end,
             case when not begins then statement_timestamp() end ${lease} ${cappedValue}
        from known
       where not is_over
    )
    select task_id, name, queue, priority, date_part('epoch', enqueued_at) * 1000, ${attemptNo}, retry_count, input,
           options, ${claimedNode(schema, sql`submission.good_until`)} ${beginsColumn}
      from known as submission
     where not is_over and name is not null
    union all
    select task_id, null, null, null, null, null, null, null, null, null ${noColumn} from expired
    union all
    select null, null, null, ${allowed},
           ceil(date_part('epoch', min(next.enqueued_at) - statement_timestamp()) * 1000), ${settled}, ${due},
           ${cancelled}, null, null ${noColumn}
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
function claimStatements(schema: SqlText, kind: Pick<ClaimKind, "born" | "completes">) {
  const plain = claimStatement(schema, kind);
  const ranked = claimStatement(schema, { ...kind, isRanked: true });

  return ({ rules }: ClaimRequest): Statement => (rules === undefined ? plain : ranked);
}

/** Where slots are free, and where tasks are fetched ahead. */
export function claimTasks(schema: SqlText, born: ClaimKind["born"]) {
  const claims = claimStatements(schema, { born });

  return async (db: Db, request: ClaimRequest): Promise<ClaimReply> => {
    const { claimSeed: seed = randomUUID() } = request;
    const lease = born === "RUNNING" ? [] : [request.leaseMs, request.startsAhead ?? false];
    const values = [...claimValues(request, seed), ...lease, ...rankValues(request)];
    return readClaimRows(await db.query<ClaimRow>(claims(request), values), request, seed).claim;
  };
}

/** A worker's round trip in one statement: ends what has succeeded, and takes what fits in its place. */
export function completeAndClaim(schema: SqlText) {
  const claims = claimStatements(schema, { born: "RUNNING", completes: true });

  return async (
    db: Db,
    completed: readonly SettledTask[],
    request: ClaimRequest,
  ): Promise<{ settle: SettleReply; claim: ClaimReply }> => {
    const { claimSeed: seed = randomUUID() } = request;
    const ends = completionValues(completed);
    const values = [...claimValues(request, seed), ...ends, ...rankValues(request)];
    return readClaimRows(await db.query<ClaimRow>(claims(request), values), request, seed);
  };
}

function rankValues({
  lanes,
  limit,
  rules,
  most = readOfEach(lanes, limit),
}: ClaimRequest): unknown[] {
  if (rules === undefined) return [];
  return [lanes.map(({ place }, n) => place ?? n), ...rankedValues(lanes, rules, most)];
}

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
