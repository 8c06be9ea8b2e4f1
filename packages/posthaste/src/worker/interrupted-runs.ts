/**
 * What becomes of attempts that this worker aborted, and of claims that are stored for it and that it cannot have: the hook and
 * the crash rule decide, as in every other recovery, and each decision is a row in `recoveries`.
 */
import type { WorkerPlan } from "../domain/worker-options.ts";
import {
  recoverClaims,
  type ClaimsCause,
  type InterruptedClaim,
} from "../engine/recover-claims.ts";
import { pause } from "../runtime/pause.ts";
import type { HeldTasks } from "./held-tasks.ts";
import type { RunServices } from "./run-services.ts";
import type { TaskRegistry } from "./task-registry.ts";

/** How long hooks and the database may take. */
const DECIDE_MS = 10_000;
/** At a shutdown: a supervisor kills a worker that has not stopped 4 s after its grace. */
const SHUTDOWN_DECIDE_MS = 2_000;

export interface InterruptedRunsOptions {
  readonly services: Pick<RunServices, "database" | "hooks" | "workerId" | "log">;
  readonly plan: Pick<WorkerPlan, "workerRecovery">;
  readonly registry: TaskRegistry;
  readonly held: HeldTasks;
  /** They are not this worker's any more. */
  readonly onDecided: () => void;
}

export class InterruptedRuns {
  readonly #options: InterruptedRunsOptions;
  #deciding: Promise<void> | undefined;

  constructor(options: InterruptedRunsOptions) {
    this.#options = options;
  }

  /** The worker could not be heard for too long and has aborted them. What fails is tried again with the next call. */
  afterCutOff(): void {
    const { held } = this.#options;
    if (held.interrupted.length > 0) this.#decideOnce("worker cut off", held.interrupted);
  }

  /** Claims that no request of this worker can have made: the server has gone back to an earlier state. */
  ofEarlierState(claims: readonly InterruptedClaim[]): void {
    if (claims.length > 0) this.#decideOnce("claim unknown", claims);
  }

  /** Where nobody can decide in time, the rule alone does. */
  async atShutdown(): Promise<void> {
    await this.#deciding;
    const { held, onDecided, services } = this.#options;
    await this.#decide("shutdown", held.interrupted).catch((error: unknown) =>
      services.log.warn(
        { error: String(error), tasks: held.interrupted.length },
        "interrupted tasks could not be decided by hooks; they follow their onCrash rule",
      ),
    );
    held.endInterrupted();
    onDecided();
  }

  #decideOnce(cause: ClaimsCause, claims: readonly InterruptedClaim[]): void {
    const { services, onDecided } = this.#options;
    this.#deciding ??= this.#decide(cause, claims)
      .catch((error: unknown) =>
        services.log.warn(
          { error: String(error), tasks: claims.length, reason: cause },
          "interrupted tasks were not recovered; trying again with the next comparison of claims",
        ),
      )
      .finally(() => {
        this.#deciding = undefined;
        onDecided();
      });
  }

  async #decide(cause: ClaimsCause, claims: readonly InterruptedClaim[]): Promise<void> {
    const { services, plan, registry, held } = this.#options;
    const { database, hooks, workerId: recoveredBy, log } = services;
    const over = new AbortController();
    const settings = plan.workerRecovery;
    const recoverer = { database, settings, recoveredBy, hooks, log, definitions: registry };
    const asked = [...claims];
    const deciding = recoverClaims({ ...recoverer, signal: over.signal }, cause, asked);
    const limitMs = cause === "shutdown" ? SHUTDOWN_DECIDE_MS : DECIDE_MS;
    const late = pause(limitMs, over.signal).then(() => {
      if (!over.signal.aborted) throw new Error(`no decision within ${limitMs} ms`);
    });
    try {
      await Promise.race([deciding, late]);
      held.givenBack(asked);
    } finally {
      over.abort();
      deciding.catch(() => undefined); // it lost the race, and was told to stop
    }
  }
}
