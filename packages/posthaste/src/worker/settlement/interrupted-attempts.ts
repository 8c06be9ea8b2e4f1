/**
 * Recovers attempts that this worker aborted, and stored claims of an earlier state of the server. The hook and the crash rule decide,
 * as in every other recovery, and each decision is a row in `recoveries`.
 */
import type { WorkerSettings } from "../../config/worker-options.ts";
import {
  recoverClaims,
  type ClaimsCause,
  type InterruptedClaim,
} from "../../recovery/recover-claims.ts";
import { pause } from "../../runtime/pause.ts";
import type { AttemptServices, TaskRegistry } from "../execution/attempt-services.ts";
import type { InFlightTasks } from "../slots/in-flight.ts";

/** How long hooks and the database may take. */
const DECIDE_MS = 10_000;
/** At a shutdown: a supervisor kills a worker that has not stopped 4 s after its grace. */
const SHUTDOWN_DECIDE_MS = 2_000;

export interface InterruptedAttemptsOptions {
  readonly services: Pick<AttemptServices, "database" | "hooks" | "workerId" | "log">;
  readonly settings: Pick<WorkerSettings, "workerRecovery">;
  readonly registry: TaskRegistry;
  readonly inFlight: InFlightTasks;
  /** These are no longer this worker's tasks. */
  readonly onDecided: () => void;
}

export class InterruptedAttempts {
  readonly #options: InterruptedAttemptsOptions;
  #deciding: Promise<void> | undefined;

  constructor(options: InterruptedAttemptsOptions) {
    this.#options = options;
  }

  /** The worker was cut off for too long and has aborted these attempts. A failed recovery is tried again with the next call. */
  afterCutOff(): void {
    const { inFlight } = this.#options;
    if (inFlight.interrupted.length > 0) this.#decideOnce("worker cut off", inFlight.interrupted);
  }

  /** Claims that no request of this worker made: the server has returned to an earlier state. */
  ofEarlierState(claims: readonly InterruptedClaim[]): void {
    if (claims.length > 0) this.#decideOnce("claim unknown", claims);
  }

  /** Without a decision in time, the crash rule alone decides. */
  async atShutdown(): Promise<void> {
    await this.#deciding;
    const { inFlight, onDecided, services } = this.#options;
    await this.#decide("shutdown", inFlight.interrupted).catch((error: unknown) =>
      services.log.warn(
        { count: inFlight.interrupted.length, error: String(error) },
        "could not ask hooks about interrupted tasks; the tasks follow their onCrash rule",
      ),
    );
    inFlight.endInterrupted();
    onDecided();
  }

  #decideOnce(cause: ClaimsCause, claims: readonly InterruptedClaim[]): void {
    const { services, onDecided } = this.#options;
    this.#deciding ??= this.#decide(cause, claims)
      .catch((error: unknown) =>
        services.log.warn(
          { count: claims.length, reason: cause, error: String(error) },
          "could not recover interrupted tasks; retrying at the next comparison of claims",
        ),
      )
      .finally(() => {
        this.#deciding = undefined;
        onDecided();
      });
  }

  async #decide(cause: ClaimsCause, claims: readonly InterruptedClaim[]): Promise<void> {
    const { services, settings, registry, inFlight } = this.#options;
    const { database, hooks, workerId: recoveredBy, log } = services;
    const over = new AbortController();
    const recoverer = {
      database,
      settings: settings.workerRecovery,
      recoveredBy,
      hooks,
      log,
      definitions: registry,
    };
    const asked = [...claims];
    const deciding = recoverClaims({ ...recoverer, signal: over.signal }, cause, asked);
    const limitMs = cause === "shutdown" ? SHUTDOWN_DECIDE_MS : DECIDE_MS;
    const late = pause(limitMs, over.signal).then(() => {
      if (!over.signal.aborted) throw new Error(`no decision within ${limitMs} ms`);
    });
    try {
      await Promise.race([deciding, late]);
      inFlight.givenBack(asked);
    } finally {
      over.abort();
      deciding.catch(() => undefined); // it lost the race, and was told to stop
    }
  }
}
