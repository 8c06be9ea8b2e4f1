/** Reads the rows of a claim, which are arrays of columns. */
import { sql, type SqlText } from "../../sql.ts";
import { completionReply } from "../settle/complete-tasks.ts";
import type { SettleReply } from "../settle/settle-tasks.ts";
import type { ClaimedTask, ClaimReply, ClaimRequest } from "./claim-tasks.ts";
import { leftovers } from "./pick-ready.ts";

/** In the order of the columns: a task that was claimed; one that had expired; or, once and without an id, the summary. */
export type ClaimRow = TaskRow | ExpiredRow | SummaryRow;

type TaskRow = [
  id: string,
  summary: null,
  name: string,
  queue: string,
  priority: number,
  enqueuedAt: number,
  attemptNo: number,
  retryCount: number | null,
  input: string,
  options: string | null,
  node: string | null,
  isStoredRunning?: boolean,
];

type ExpiredRow = [id: string, summary: null, name: null];

type SummaryRow = [id: null, summary: string];

interface Summary {
  /** Until the next task of these lanes is due; null if none is waiting. */
  readonly nextDueMs: number | null;
  /** If the statement also completes tasks: how many it ended, and which of them were cancelled. */
  readonly settled?: number;
  readonly cancelled?: readonly string[] | null;
  /** For a claim with rules: see `leftovers`. */
  readonly due?: number;
  readonly allowed?: number;
}

export function readClaimRows(
  rows: readonly ClaimRow[],
  request: ClaimRequest,
  seed: string,
): { settle: SettleReply; claim: ClaimReply } {
  const tasks: ClaimedTask[] = [];
  const expired: string[] = [];
  let summary: Summary = { nextDueMs: null };
  for (const row of rows) {
    if (row[0] === null) summary = JSON.parse(row[1]) as Summary;
    else if (row[2] === null) expired.push(row[0]);
    else tasks.push(claimedTask(row, seed));
  }
  const { nextDueMs, settled = 0, cancelled = null, due = 0, allowed = 0 } = summary;
  const taken = tasks.length + expired.length;
  return {
    settle: completionReply(settled, cancelled),
    claim: { tasks, expired, nextDueMs, ...leftovers(request, { taken, due, allowed }) },
  };
}

function claimedTask(row: TaskRow, seed: string): ClaimedTask {
  const [
    id,
    ,
    name,
    queue,
    priority,
    enqueuedAt,
    attemptNo,
    retryCount,
    input,
    options,
    node,
    isStoredRunning,
  ] = row;
  return {
    id,
    claimId: claimIdOf(seed, id),
    name,
    queue,
    priority,
    enqueuedAt,
    attemptNo,
    retryCount: retryCount ?? 0,
    input,
    options,
    isStoredRunning: isStoredRunning === true,
    node: readNode(node),
  };
}

/**
 * The id of a new claim, in SQL; `claimIdOf` makes the same in TypeScript, so that it need not be returned. A random half that is new for every statement, from the seed, and the random half of `task_id`. A new uuid for each claim
 * costs three times as much.
 */
export function newClaimId(seed: SqlText): SqlText {
  return sql`
  encode(substring(uuid_send(${seed}::uuid) for 8) || substring(uuid_send(task_id) from 9), 'hex')::uuid`;
}

/** The same in TypeScript. */
export function claimIdOf(seed: string, taskId: string): string {
  return seed.slice(0, SEED_LENGTH) + taskId.slice(SEED_LENGTH);
}

/** The part of a claim's id, or of a seed, that names the statement. */
export function seedOf(claimIdOrSeed: string): string {
  return claimIdOrSeed.slice(0, SEED_LENGTH);
}

/** Eight bytes, as a uuid writes them. */
const SEED_LENGTH = 18;

/** The facts of a claimed task that is a node. */
export interface ClaimedNode {
  readonly workflowId: string;
  /** The workflow's name. */
  readonly workflow: string;
  /** The node's id, with its number if it is an item of a fan-out: `parcels[3]`. */
  readonly node: string;
  /** The input of the run. */
  readonly input: unknown;
  /**
   * Its deadline has passed: it must not run. A claim ends expired plain tasks itself. The end of an expired node advances its run under a
   * lock that a claim must not wait for, so the claiming worker ends it.
   */
  readonly isLate: boolean;
}

/**
 * Asked only of tasks whose deadline has passed. Not `exists`: the planner may hash all of submissions for that, once for
 * every statement.
 */
export function isNode(schema: SqlText, taskId: SqlText): SqlText {
  return sql`coalesce((
    select of_node.workflow_id is not null from ${schema}.submissions as of_node
     where of_node.task_id = ${taskId} limit 1), false)`;
}

/** A column of JSON; null for the tasks that are no nodes. `submission` has workflow_id and node. */
export function claimedNode(schema: SqlText, goodUntil: SqlText): SqlText {
  return sql`
    case when submission.workflow_id is not null then (
      select jsonb_build_object(
               'workflowId', run.workflow_id, 'workflow', run.name, 'node', submission.node, 'input', run.input,
               'isLate', coalesce(${goodUntil} <= statement_timestamp(), false))
        from ${schema}.workflows as run where run.workflow_id = submission.workflow_id) end`;
}

export function readNode(json: string | null): ClaimedNode | undefined {
  return json === null ? undefined : (JSON.parse(json) as ClaimedNode);
}

/** How many handlers of a task have started, from a row of active_tasks or finished_tasks: null stands for its first claim. */
export function attemptsSoFar(row: SqlText): SqlText {
  return sql`coalesce(${row}.attempt_no, (${row}.started_at is not null)::integer)`;
}
