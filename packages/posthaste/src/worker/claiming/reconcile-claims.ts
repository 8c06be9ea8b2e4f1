/** Compares the claims that a worker knows with the claims that the database has for it. */
import type { Logger } from "../../domain/logger.ts";
import type { Connection } from "../../store/connection.ts";
import type { ClaimedTask } from "../../store/queries/claim/claim-tasks.ts";
import { claimKey, type StoredClaim } from "../../store/queries/claim/stored-claims.ts";
import type { AttemptServices } from "../execution/attempt-services.ts";
import type { InFlightTasks } from "../slots/in-flight.ts";

export interface ReconcileClaims {
  readonly services: Pick<AttemptServices, "database" | "workerId" | "log">;
  readonly connection: Connection;
  /** How long a handler that must stop has to end. */
  readonly graceMs: number;
  readonly inFlight: InFlightTasks;
}

export interface AdoptedClaims {
  readonly started: ClaimedTask[];
  readonly claimed: ClaimedTask[];
}

export interface ReconciledClaims {
  /** Their request committed, and its answer was lost: they start now. */
  readonly adopted: AdoptedClaims;
  /**
   * No unanswered request made them. This worker ended them once, and the server has returned to an earlier state (failover or
   * restore). Their handlers may have run, so they follow the crash rule.
   */
  readonly unknown: readonly StoredClaim[];
}

/**
 * Stops attempts whose claim is gone or whose task was cancelled, and finds stored claims that the worker does not know. Called
 * between rounds of the loop, never during one.
 */
export async function reconcileClaims({
  services,
  connection,
  graceMs,
  inFlight,
}: ReconcileClaims): Promise<ReconciledClaims> {
  const { log, workerId } = services;
  const { store } = services.database;
  // Read before the query: a direct start may begin during it and is not in its answer.
  const attempts = [...inFlight.running];
  const knownBefore = inFlight.claimKeys();
  const stored = await store.storedClaims.list(connection, workerId);
  const storedByKey = new Map(stored.map((claim) => [claimKey(claim), claim]));
  for (const attempt of attempts) {
    const claim = storedByKey.get(claimKey(attempt.claimed));
    if (claim?.isCancelRequested === true) attempt.stop("CANCEL_REQUESTED", graceMs);
    if (claim !== undefined || attempt.isAborted || attempt.isComplete) continue;
    if (!inFlight.running.has(attempt)) continue; // it has ended, and its end was written while the claims were read
    log.warn(
      { task: attempt.claimed.id, name: attempt.claimed.name, claimId: attempt.claimed.claimId },
      "claim lost, the task was taken from this worker; aborting its handler",
    );
    attempt.stop("CLAIM_LOST", graceMs);
  }
  forgetLost(inFlight, { storedByKey, knownBefore, log });
  // A claim whose end was written while the claims were read was known before; one that has begun since is known now.
  const known = new Set([...knownBefore, ...inFlight.claimKeys()]);
  const orphaned = stored.filter(
    (claim) => !known.has(claimKey(claim)) && !inFlight.seeds.isUnderWay(claim),
  );
  const unanswered = orphaned.filter((claim) => inFlight.seeds.isUnanswered(claim));
  return {
    adopted: await adopt(unanswered, inFlight, { services, connection }),
    unknown: orphaned.filter((claim) => !unanswered.includes(claim)),
  };
}

async function adopt(
  claims: readonly StoredClaim[],
  inFlight: InFlightTasks,
  { services, connection }: Pick<ReconcileClaims, "services" | "connection">,
): Promise<AdoptedClaims> {
  if (claims.length === 0) return { started: [], claimed: [] };
  const adopted = await services.database.store.storedClaims.adopt(connection, claims);
  inFlight.seeds.found(claims);
  if (adopted.length > 0)
    services.log.info(
      { count: adopted.length },
      "found claims whose confirmation was lost; starting their tasks",
    );
  return {
    started: adopted.filter(({ isStoredRunning }) => isStoredRunning),
    claimed: adopted.filter(({ isStoredRunning }) => !isStoredRunning),
  };
}

/** Prefetched tasks that are stored as RUNNING: drops lost ones, and releases those that were cancelled or whose queue is paused. */
function forgetLost(
  inFlight: InFlightTasks,
  {
    storedByKey: stored,
    knownBefore,
    log,
  }: {
    readonly storedByKey: ReadonlyMap<string, StoredClaim>;
    readonly knownBefore: ReadonlySet<string>;
    readonly log: Logger;
  },
): void {
  const lost = inFlight.dropPrefetched((task) => {
    const key = claimKey(task);
    return knownBefore.has(key) && !stored.has(key);
  });
  if (lost.length > 0)
    log.warn(
      { count: lost.length },
      "claims lost before their tasks started; this worker does not start them",
    );
  inFlight.releasePrefetched((task) => {
    const { isCancelRequested = false, isPaused = false } = stored.get(claimKey(task)) ?? {};
    return task.isStoredRunning === true && (isCancelRequested || isPaused);
  });
}
