/** What a process and its liveness thread say to each other. Everything here must survive a structured clone. */
import type { OnBlocked } from "../../domain/worker-options.ts";
import type { HeldClaim } from "../../store/queries/hold-claims.ts";

/** What the thread must know of a worker to speak for it. */
export interface WatchedWorker {
  readonly workerId: string;
  /** A direct connection: a session that shows a life must be the process's own. */
  readonly url: string;
  readonly preparedStatements: boolean | undefined;
  readonly schema: string;
  readonly hostname: string;
  readonly pid: number;
  readonly beatMs: number;
  readonly runnerHeartbeatIntervalMs: number;
  readonly claimerHeartbeatIntervalMs: number;
  readonly claimLeaseMs: number;
  readonly crashGraceMs: number;
  readonly runningStaleThresholdMs: number;
  /** Tasks with one of these flags, set and true, may be silent so many times longer. */
  readonly resilientFlags: readonly string[];
  readonly resilientMultiplier: number;
  /** When its event loop is blocked for longer than its tasks may be silent. */
  readonly onBlocked: OnBlocked;
  /** JSON text, for the snapshots. */
  readonly config: string;
}

/** Everything is about one worker: a process may have several, and they share the thread. */
export type ToLiveness =
  | { readonly kind: "watch"; readonly worker: WatchedWorker }
  /** Its row stands: from here on it can beat. */
  | { readonly kind: "registered"; readonly workerId: string }
  | {
      readonly kind: "claims";
      readonly workerId: string;
      readonly running: readonly HeldClaim[];
      readonly ahead: readonly HeldClaim[];
    }
  | { readonly kind: "leave"; readonly workerId: string };

export type FromLiveness = { readonly workerId: string } &
  /** The worker's row, and every claim that was due, have a new heartbeat. Said about once a heartbeat. */
  (
    | { readonly kind: "heard" }
    /** Others have declared it dead, or its row is gone. Said once. */
    | { readonly kind: "dead" }
    /** No heartbeat has been written for so long that others may have taken its tasks. */
    | { readonly kind: "fenced"; readonly silentMs: number }
    | { readonly kind: "unfenced" }
    | { readonly kind: "leads"; readonly leads: boolean }
    /** The first deadline of a waiting task passes in so long, or has passed. Said by a worker that leads. */
    | { readonly kind: "deadline"; readonly inMs: number }
    /** The event loop turns again after a while. */
    | { readonly kind: "was blocked"; readonly blockedMs: number }
    /** `isAway`: the database does not answer, which the worker says by itself. */
    | { readonly kind: "trouble"; readonly error: string; readonly isAway: boolean }
    | { readonly kind: "left" }
  );
