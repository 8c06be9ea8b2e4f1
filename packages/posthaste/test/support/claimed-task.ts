import type { ClaimedTask } from "../../src/store/queries/claim/claim-tasks.ts";

/** One that was fetched ahead, stored as running or not. */
export function taskAhead(id: string, isStoredRunning: boolean): ClaimedTask {
  return {
    id,
    claimId: `claim of ${id}`,
    name: "n",
    queue: "q",
    priority: 7,
    enqueuedAt: 0,
    attemptNo: 1,
    retryCount: 0,
    input: "1",
    options: null,
    isStoredRunning,
  };
}
