/** Keeps what a worker believes and what is stored about its claims the same. */
import type { Logger } from "../domain/logger.ts";
import type { Connection } from "../store/connection.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import type { StoredClaim } from "../store/queries/hold-claims.ts";
import { claimKey, type HeldTasks } from "./held-tasks.ts";
import type { RunServices } from "./run-services.ts";

export interface KeepClaims {
  readonly services: Pick<RunServices, "database" | "workerId" | "log">;
  readonly connection: Connection;
  /** How long a body that must stop has to notice. */
  readonly graceMs: number;
  readonly held: HeldTasks;
}

export interface AdoptedClaims {
  readonly started: ClaimedTask[];
  readonly claimed: ClaimedTask[];
}

/**
 * Stops runs whose claim is gone or whose task was cancelled; returns claims that are stored and unknown here. Those are ours:
 * their claim committed and the acknowledgement was lost. Called between round trips, never during one.
 */
export async function keepClaims({
  services,
  connection,
  graceMs,
  held,
}: KeepClaims): Promise<AdoptedClaims> {
  const { log, workerId } = services;
  const { store } = services.database;
  // What is started directly may begin while this is read, and is not in it: that is no loss.
  const runs = [...held.running];
  const stored = await store.holdClaims.list(connection, workerId);
  const storedByKey = new Map(stored.map((claim) => [claimKey(claim), claim]));
  for (const run of runs) {
    const claim = storedByKey.get(claimKey(run.claimed));
    if (claim?.isCancelRequested === true) run.stop("CANCEL_REQUESTED", graceMs);
    if (claim !== undefined || run.isAborted || run.isComplete) continue;
    log.warn(
      { taskId: run.claimed.id, claimId: run.claimed.claimId },
      "claim lost: the task belongs to somebody else by now",
    );
    run.stop("CLAIM_LOST", graceMs);
  }
  forgetLost(held, storedByKey, log);
  const known = held.claimKeys();
  const strays = stored.filter(
    (claim) => !known.has(claimKey(claim)) && !held.isBeingClaimed(claim),
  );
  if (strays.length === 0) return { started: [], claimed: [] };
  const adopted = await store.holdClaims.adopt(connection, strays);
  log.info({ tasks: adopted.length }, "claims whose acknowledgement was lost are run now");
  return {
    started: adopted.filter(({ isStarted }) => isStarted),
    claimed: adopted.filter(({ isStarted }) => !isStarted),
  };
}

/** Of what is stored as running and has not begun: what was lost does not run; what was cancelled or is paused is given back. */
function forgetLost(held: HeldTasks, stored: ReadonlyMap<string, StoredClaim>, log: Logger): void {
  const lost = held.forgetAhead((task) => !stored.has(claimKey(task)));
  if (lost.length > 0) log.warn({ tasks: lost.length }, "claims lost before their tasks began");
  held.releaseAhead((task) => {
    const { isCancelRequested = false, isPaused = false } = stored.get(claimKey(task)) ?? {};
    return task.isStarted === true && (isCancelRequested || isPaused);
  });
}
