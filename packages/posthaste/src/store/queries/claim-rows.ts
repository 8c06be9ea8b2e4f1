/** Reads what a claim's statement returns: rows in the order of their columns. */
import { completionReply } from "./complete-tasks.ts";
import { claimIdOf } from "./claim-id.ts";
import type { ClaimedTask, ClaimReply, ClaimRequest } from "./claim-tasks.ts";
import { readNode } from "./claimed-node.ts";
import { leftovers } from "./pick-ready.ts";
import type { SettleReply } from "./settle-tasks.ts";

/** In the order of the columns: a task that was claimed; one that had expired; or, once and without an id, the rest. */
export type ClaimRow = TaskRow | ExpiredRow | Summary;

type TaskRow = [
  id: string,
  name: string,
  queue: string,
  priority: number,
  enqueuedAt: number,
  attemptNo: number,
  retryCount: number | null,
  input: string,
  options: string | null,
  node: string | null,
  isStarted?: boolean,
];

type ExpiredRow = [id: string, name: null];

type Summary = [
  id: null,
  ...nothing: [null, null],
  allowed: number | null,
  nextDueMs: number | null,
  settled: number | null,
  due: number | null,
  cancelled: string | null,
  ...nothing: [null, null],
];

export function readClaimRows(
  rows: readonly ClaimRow[],
  request: ClaimRequest,
  seed: string,
): { settle: SettleReply; claim: ClaimReply } {
  const tasks: ClaimedTask[] = [];
  const expired: string[] = [];
  let summary: Summary | undefined;
  for (const row of rows) {
    if (row[0] === null) summary = row;
    else if (row[1] === null) expired.push(row[0]);
    else tasks.push(claimedTask(row, seed));
  }
  const [, , , allowed, nextDueMs, settled, due, cancelled] = summary ?? [];
  return {
    settle: completionReply(settled ?? null, cancelled ?? null),
    claim: {
      tasks,
      expired,
      nextDueMs: nextDueMs ?? null,
      ...leftovers(request, {
        taken: tasks.length + expired.length,
        due: due ?? 0,
        allowed: allowed ?? 0,
      }),
    },
  };
}

function claimedTask(row: TaskRow, seed: string): ClaimedTask {
  const [
    id,
    name,
    queue,
    priority,
    enqueuedAt,
    attemptNo,
    retryCount,
    input,
    options,
    node,
    isStarted,
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
    isStarted: isStarted === true,
    node: readNode(node),
  };
}
