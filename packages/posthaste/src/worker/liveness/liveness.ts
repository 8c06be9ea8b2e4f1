/**
 * The entry of liveness, for one worker. In: its claims. Out: heartbeats, and what the thread finds out: this worker was declared dead,
 * is cut off, leads, or had a blocked event loop.
 */
import type { Logger } from "../../domain/logger.ts";
import { monotonicMs } from "../../runtime/monotonic-ms.ts";
import { pause } from "../../runtime/pause.ts";
import type { Claim } from "../../store/queries/claim/stored-claims.ts";
import type { Rollup } from "../../store/queries/statistics/write-rollups.ts";
import { livenessThread } from "./liveness-thread.ts";
import type { FromLiveness, WatchedWorker } from "./messages.ts";
import { SteadyHeartbeats } from "./steady-heartbeats.ts";

export interface LivenessOptions {
  readonly worker: WatchedWorker;
  readonly log: Logger;
  /** The claims of the worker now. */
  readonly claims: () => {
    readonly running: readonly Claim[];
    readonly prefetched: readonly Claim[];
  };
  /** The counts of ended tasks since the last call. */
  readonly takeRollups: () => readonly Rollup[];
  /** @param aheadMs the database's clock minus `performance.now()` */
  readonly onClock: (aheadMs: number) => void;
  /** Other workers have declared this one dead. Called once. */
  readonly onDead: () => void;
  /** Other workers may recover its tasks from now on, or may no longer. */
  readonly onFence: (isFenced: boolean) => void;
  /** The loop was blocked for so long that other workers may have recovered its tasks. */
  readonly onLongBlock: () => void;
}

/** How long the first heartbeat is waited for. */
const FIRST_BEAT_MS = 5_000;
/** How long its session may take to close. */
const LEAVE_MS = 2_000;
const LONGEST_PUBLISH_MS = 1_000;
/** The thread writes them every half minute. */
const ROLLUPS_EVERY_MS = 5_000;
/** Shorter blocks are not logged. */
const WORTH_A_LINE_MS = 1_000;

export class Liveness {
  readonly #options: LivenessOptions;
  readonly #beating = new AbortController();
  readonly #ending = new AbortController();
  readonly #left = new AbortController();
  /** Between this thread's `performance.now()` and the clock that all threads share. */
  readonly #originMs = monotonicMs() - performance.now();
  #publishing: NodeJS.Timeout | undefined;
  readonly #publishingRollups: NodeJS.Timeout;
  readonly #heard: SteadyHeartbeats;
  #wasHolding = false;
  #leads = false;
  #onDeadline: (inMs: number) => void = () => undefined;
  #onLead: () => void = () => undefined;

  constructor(options: LivenessOptions) {
    this.#options = options;
    const { worker } = options;
    this.#heard = new SteadyHeartbeats(worker.beatMs);
    const onMessage = (message: FromLiveness): void => this.#onMessage(message);
    livenessThread.watch({ worker, onMessage, isRegistered: false });
    const { runnerHeartbeatIntervalMs, claimerHeartbeatIntervalMs } = worker;
    const shortest = Math.min(runnerHeartbeatIntervalMs, claimerHeartbeatIntervalMs);
    this.#publishing = setInterval(
      () => this.#publish(),
      Math.min(LONGEST_PUBLISH_MS, shortest / 4),
    ).unref();
    this.#publishingRollups = setInterval(() => this.#publishRollups(), ROLLUPS_EVERY_MS).unref();
  }

  /** Whether this worker leads, and so looks for dead workers. */
  get leads(): boolean {
    return this.#leads;
  }

  /** Whether this worker may judge workers that have been silent for this long: see steady-heartbeats.ts. */
  mayJudge(thresholdMs: number): boolean {
    return this.#heard.mayJudge(thresholdMs, performance.now());
  }

  /** `onLead` is called when this worker begins or ceases to lead. */
  watchLead(onLead: () => void): void {
    this.#onLead = onLead;
  }

  /** While this worker leads, `onDeadline` gets the first deadline of a waiting task, shortly before or after it passes. */
  watchDeadlines(onDeadline: (inMs: number) => void): void {
    this.#onDeadline = onDeadline;
  }

  /** The worker's row exists. Resolves when the first heartbeat is stored, or after a while if it is not. */
  async begin(): Promise<void> {
    const { worker, log } = this.#options;
    const [beating, ending] = [this.#beating.signal, this.#ending.signal];
    livenessThread.post({ kind: "registered", workerId: worker.workerId });
    await pause(FIRST_BEAT_MS, AbortSignal.any([beating, ending]));
    if (!beating.aborted && !ending.aborted)
      log.warn("no heartbeat stored yet; the worker keeps retrying");
  }

  /** @param isSilent the database does not answer: do not wait for its session to close */
  async end(isSilent = false): Promise<void> {
    clearInterval(this.#publishing);
    clearInterval(this.#publishingRollups);
    this.#publishRollups();
    this.#ending.abort();
    const { workerId } = this.#options.worker;
    livenessThread.post({ kind: "leave", workerId });
    await pause(isSilent ? 0 : LEAVE_MS, this.#left.signal);
    livenessThread.forget(workerId);
  }

  #publish(): void {
    const { running, prefetched } = this.#options.claims();
    const isHolding = running.length + prefetched.length > 0;
    if (!isHolding && !this.#wasHolding) return;
    this.#wasHolding = isHolding;
    const { workerId } = this.#options.worker;
    livenessThread.post({ kind: "claims", workerId, running, prefetched });
  }

  #publishRollups(): void {
    const rollups = this.#options.takeRollups();
    if (rollups.length === 0) return;
    livenessThread.post({ kind: "rollups", workerId: this.#options.worker.workerId, rollups });
  }

  #onMessage(message: FromLiveness): void {
    const { log, worker, onDead, onFence, onLongBlock, onClock } = this.#options;
    switch (message.kind) {
      case "heard":
        this.#heard.heard(performance.now());
        onClock(message.clockAheadMs + this.#originMs);
        return this.#beating.abort();
      case "left":
        return this.#left.abort();
      case "leads":
        this.#leads = message.leads;
        return this.#onLead();
      case "deadline":
        return this.#onDeadline(message.inMs);
      case "dead":
        log.error(
          "worker declared dead by other workers; aborting its tasks and registering again",
        );
        return onDead();
      case "fenced":
        log.error(
          { silentMs: Math.round(message.silentMs) },
          "no heartbeat stored for too long; aborting all tasks because other workers may take them",
        );
        return onFence(true);
      case "unfenced":
        log.info("heartbeats stored again; claiming tasks again");
        return onFence(false);
      case "was blocked":
        return this.#report(message.blockedMs, worker, onLongBlock);
      case "trouble":
        return message.isAway
          ? log.debug({ error: message.error }, "could not store heartbeats; retrying")
          : log.error(
              { error: message.error },
              "PostgreSQL refuses heartbeats, other workers will take the tasks; after a migration apply what `posthaste roles` prints",
            );
    }
  }

  #report(blockedMs: number, worker: WatchedWorker, onLongBlock: () => void): void {
    if (blockedMs >= WORTH_A_LINE_MS) {
      this.#options.log.warn(
        { blockedMs: Math.round(blockedMs) },
        "event loop was blocked; no task of this process could continue. Set blocking: true for tasks that compute",
      );
    }
    if (blockedMs >= worker.runningStaleThresholdMs) onLongBlock();
  }
}
