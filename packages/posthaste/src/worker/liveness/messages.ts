/** The messages between a process and its liveness thread. All must survive a structured clone. */
import type { OnBlocked } from "../../config/worker-options.ts";
import type { Claim } from "../../store/queries/claim/stored-claims.ts";
import type { Rollup } from "../../store/queries/statistics/write-rollups.ts";

/** The facts about a worker that the thread needs. */
export interface WatchedWorker {
  readonly workerId: string;
  /** A direct connection: the session with the lock must not be shared by a pooler. */
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

/** Each message is about one worker; the workers of a process share the thread. */
export type ToLiveness =
  | { readonly kind: "watch"; readonly worker: WatchedWorker }
  /** Its row exists: heartbeats can be written. */
  | { readonly kind: "registered"; readonly workerId: string }
  | {
      readonly kind: "claims";
      readonly workerId: string;
      readonly running: readonly Claim[];
      readonly prefetched: readonly Claim[];
    }
  /** Its counts of ended tasks since the last message of this kind. */
  | { readonly kind: "rollups"; readonly workerId: string; readonly rollups: readonly Rollup[] }
  | { readonly kind: "leave"; readonly workerId: string };

export type FromLiveness = { readonly workerId: string } &
  /**
   * The worker's row and all due claims have a new heartbeat. Sent about once a heartbeat. `clockAheadMs`: the database's clock minus
   * `monotonicMs()`.
   */
  (
    | { readonly kind: "heard"; readonly clockAheadMs: number }
    /** Other workers have declared it dead, or its row is gone. Sent once. */
    | { readonly kind: "dead" }
    /** No heartbeat has been written for so long that other workers may recover its tasks. */
    | { readonly kind: "fenced"; readonly silentMs: number }
    | { readonly kind: "unfenced" }
    | { readonly kind: "leads"; readonly leads: boolean }
    /** The first deadline of a waiting task passes in `ms`. Sent for the leader. */
    | { readonly kind: "deadline"; readonly inMs: number }
    /** The event loop turns again after a while. */
    | { readonly kind: "was blocked"; readonly blockedMs: number }
    /** `isAway`: the database does not answer, which the worker logs itself. */
    | { readonly kind: "trouble"; readonly error: string; readonly isAway: boolean }
    | { readonly kind: "left" }
  );
