import type { ClaimedTask } from "../store/queries/claim-tasks.ts";

/** RETURNING comes in the order of the rows on disk; they run in the order in which they were to be claimed. */
export function inClaimOrder(
  tasks: ClaimedTask[],
  queueRanks: ReadonlyMap<string, number>,
): ClaimedTask[] {
  const rank = ({ queue }: ClaimedTask): number => queueRanks.get(queue) ?? 0;
  return tasks.sort(
    (a, b) =>
      rank(a) - rank(b) ||
      a.priority - b.priority ||
      a.enqueuedAt - b.enqueuedAt ||
      (a.id < b.id ? -1 : 1),
  );
}
