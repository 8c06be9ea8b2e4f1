import type { ClaimedTask } from "../store/queries/claim-tasks.ts";

interface Place {
  readonly queue: string;
  readonly priority: number;
}

/** Which lane comes first: by the rank of its queue, then by priority. */
export function byLane(queueRanks: ReadonlyMap<string, number>): (a: Place, b: Place) => number {
  const rank = ({ queue }: Place): number => queueRanks.get(queue) ?? 0;
  return (a, b) => rank(a) - rank(b) || a.priority - b.priority;
}

/** RETURNING comes in the order of the rows on disk; they run in the order in which they were to be claimed. */
export function inClaimOrder(
  tasks: ClaimedTask[],
  queueRanks: ReadonlyMap<string, number>,
): ClaimedTask[] {
  const lanes = byLane(queueRanks);
  return tasks.sort((a, b) => lanes(a, b) || a.enqueuedAt - b.enqueuedAt || (a.id < b.id ? -1 : 1));
}
