import type { ClaimedTask, ClaimRequest } from "../store/queries/claim-tasks.ts";

/** RETURNING comes in the order of the rows on disk; they run in the order in which they were to be claimed. */
export function inClaimOrder(
  tasks: ClaimedTask[],
  request: ClaimRequest | undefined,
): ClaimedTask[] {
  const queues = request?.lanes.map((lane) => lane.queue) ?? [];
  return tasks.sort(
    (a, b) =>
      queues.indexOf(a.queue) - queues.indexOf(b.queue) ||
      a.priority - b.priority ||
      a.enqueuedAt - b.enqueuedAt ||
      (a.id < b.id ? -1 : 1),
  );
}
