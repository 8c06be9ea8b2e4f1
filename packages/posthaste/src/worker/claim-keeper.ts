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

export interface KeptClaims {
  /** Their request committed, and its answer was lost: they are run now. */
  readonly adopted: AdoptedClaims;
  /**
   * No request that lost its answer can have made them. This worker ended them once, and the server has gone back to a state
   * before that: their handlers may have run, so they are no different from those of a crashed worker.
   */
  readonly unknown: readonly StoredClaim[];
}

/**
 * Stops runs whose claim is gone or whose task was cancelled, and finds claims that are stored for this worker and that it
 * does not hold. Called between round trips, never during one.
 */
export async function keepClaims({
  services,
  connection,
  graceMs,
  held,
}: KeepClaims): Promise<KeptClaims> {
  const { log, workerId } = services;
  const { store } = services.database;
  // What is started directly may begin while this is read, and is not in it: that is no loss.
  const runs = [...held.running];
  const knownBefore = held.claimKeys();
  const stored = await store.holdClaims.list(connection, workerId);
  const storedByKey = new Map(stored.map((claim) => [claimKey(claim), claim]));
  for (const run of runs) {
    const claim = storedByKey.get(claimKey(run.claimed));
    if (claim?.isCancelRequested === true) run.stop("CANCEL_REQUESTED", graceMs);
    if (claim !== undefined || run.isAborted || run.isComplete) continue;
    if (!held.running.has(run)) continue; // it has ended, and its end was written while the claims were read
    log.warn(
      { task: run.claimed.id, name: run.claimed.name, claimId: run.claimed.claimId },
      "claim lost; the task was taken from this worker, and its handler is told to stop",
    );
    run.stop("CLAIM_LOST", graceMs);
  }
  forgetLost(held, { storedByKey, knownBefore, log });
  // A claim whose end was written while the claims were read was known before; one that has begun since is known now.
  const known = new Set([...knownBefore, ...held.claimKeys()]);
  const strays = stored.filter(
    (claim) => !known.has(claimKey(claim)) && !held.seeds.isUnderWay(claim),
  );
  const lost = strays.filter((claim) => held.seeds.isUnanswered(claim));
  return {
    adopted: await adopt(lost, held, { services, connection }),
    unknown: strays.filter((claim) => !lost.includes(claim)),
  };
}

async function adopt(
  claims: readonly StoredClaim[],
  held: HeldTasks,
  { services, connection }: Pick<KeepClaims, "services" | "connection">,
): Promise<AdoptedClaims> {
  if (claims.length === 0) return { started: [], claimed: [] };
  const adopted = await services.database.store.holdClaims.adopt(connection, claims);
  held.seeds.found(claims);
  if (adopted.length > 0)
    services.log.info(
      { tasks: adopted.length },
      "claims whose acknowledgement was lost are run now",
    );
  return {
    started: adopted.filter(({ isStarted }) => isStarted),
    claimed: adopted.filter(({ isStarted }) => !isStarted),
  };
}

/** Of what is stored as running and has not begun: what was lost does not run; what was cancelled or is paused is given back. */
function forgetLost(
  held: HeldTasks,
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
  const lost = held.forgetAhead((task) => {
    const key = claimKey(task);
    return knownBefore.has(key) && !stored.has(key);
  });
  if (lost.length > 0) log.warn({ tasks: lost.length }, "claims lost before their tasks began");
  held.releaseAhead((task) => {
    const { isCancelRequested = false, isPaused = false } = stored.get(claimKey(task)) ?? {};
    return task.isStarted === true && (isCancelRequested || isPaused);
  });
}
