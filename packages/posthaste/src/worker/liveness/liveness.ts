/** One worker's part of the liveness thread: what it holds is published there, and what the thread finds out is told here. */
import type { Logger } from "../../domain/logger.ts";
import { pause } from "../../runtime/pause.ts";
import type { HeldClaim } from "../../store/queries/hold-claims.ts";
import { HeardSteadily } from "./heard-steadily.ts";
import { livenessThread } from "./liveness-thread.ts";
import type { FromLiveness, WatchedWorker } from "./messages.ts";

export interface LivenessOptions {
  readonly worker: WatchedWorker;
  readonly log: Logger;
  /** What is held at this moment. */
  readonly claims: () => {
    readonly running: readonly HeldClaim[];
    readonly ahead: readonly HeldClaim[];
  };
  /** Others have declared this worker dead. Said once. */
  readonly onDead: () => void;
  /** Others may take its tasks, or can no longer. */
  readonly onFence: (isFenced: boolean) => void;
  /** The loop was blocked for so long that others may have taken its tasks. */
  readonly onLongBlock: () => void;
}

/** How long the first heartbeat is waited for. */
const FIRST_BEAT_MS = 5_000;
/** How long its session may take to close. */
const LEAVE_MS = 2_000;
const LONGEST_PUBLISH_MS = 1_000;
/** A loop that stands still for less is nobody's concern. */
const WORTH_A_LINE_MS = 1_000;

export class Liveness {
  readonly #options: LivenessOptions;
  readonly #beating = new AbortController();
  readonly #left = new AbortController();
  #publishing: NodeJS.Timeout | undefined;
  readonly #heard: HeardSteadily;
  #wasHolding = false;
  #leads = false;
  #onDeadline: (inMs: number) => void = () => undefined;

  constructor(options: LivenessOptions) {
    this.#options = options;
    const { worker } = options;
    this.#heard = new HeardSteadily(worker.beatMs);
    livenessThread.watch({
      worker,
      hear: (message) => this.#hear(message),
      isRegistered: false,
    });
    const { runnerHeartbeatIntervalMs, claimerHeartbeatIntervalMs } = worker;
    const shortest = Math.min(runnerHeartbeatIntervalMs, claimerHeartbeatIntervalMs);
    this.#publishing = setInterval(
      () => this.#publish(),
      Math.min(LONGEST_PUBLISH_MS, shortest / 4),
    ).unref();
  }

  /** Whether this is the worker that looks after the others. */
  get leads(): boolean {
    return this.#leads;
  }

  /** Whether this worker may judge others that have been silent for so long: see heard-steadily.ts. */
  mayJudge(thresholdMs: number): boolean {
    return this.#heard.mayJudge(thresholdMs, performance.now());
  }

  /** While this worker leads, `hear` is told of the first deadline of a waiting task, shortly before or after it passes. */
  hearDeadlines(hear: (inMs: number) => void): void {
    this.#onDeadline = hear;
  }

  /** The worker's row stands. Resolves when others can see that it lives, or after a while if they cannot. */
  async begin(): Promise<void> {
    const { worker, log } = this.#options;
    livenessThread.say({ kind: "registered", workerId: worker.workerId });
    await pause(FIRST_BEAT_MS, this.#beating.signal);
    if (!this.#beating.signal.aborted)
      log.warn("no heartbeat could be written yet; the worker begins, and goes on trying");
  }

  /** @param isSilent the database would not answer its session's goodbye */
  async end(isSilent = false): Promise<void> {
    clearInterval(this.#publishing);
    const { workerId } = this.#options.worker;
    livenessThread.say({ kind: "leave", workerId });
    await pause(isSilent ? 0 : LEAVE_MS, this.#left.signal);
    livenessThread.forget(workerId);
  }

  #publish(): void {
    const { running, ahead } = this.#options.claims();
    const isHolding = running.length + ahead.length > 0;
    if (!isHolding && !this.#wasHolding) return;
    this.#wasHolding = isHolding;
    const { workerId } = this.#options.worker;
    livenessThread.say({ kind: "claims", workerId, running, ahead });
  }

  #hear(message: FromLiveness): void {
    const { log, worker, onDead, onFence, onLongBlock } = this.#options;
    switch (message.kind) {
      case "heard":
        this.#heard.heard(performance.now());
        return this.#beating.abort();
      case "left":
        return this.#left.abort();
      case "leads":
        this.#leads = message.leads;
        return;
      case "deadline":
        return this.#onDeadline(message.inMs);
      case "dead":
        log.error(
          "this worker was declared dead: its tasks are taken from it, and it registers anew",
        );
        return onDead();
      case "fenced":
        log.error(
          { silentMs: Math.round(message.silentMs) },
          "no heartbeat has been written for too long: others may take the tasks, so they are aborted here",
        );
        return onFence(true);
      case "unfenced":
        log.info("heartbeats are written again");
        return onFence(false);
      case "was blocked":
        return this.#report(message.blockedMs, worker, onLongBlock);
      case "trouble":
        return message.isAway
          ? log.debug({ error: message.error }, "heartbeats are not written; trying again")
          : log.error(
              { error: message.error },
              "heartbeats cannot be written, so others will take this worker's tasks: after a migration run `posthaste roles` again; trying again",
            );
    }
  }

  #report(blockedMs: number, worker: WatchedWorker, onLongBlock: () => void): void {
    if (blockedMs >= WORTH_A_LINE_MS) {
      this.#options.log.warn(
        { blockedMs: Math.round(blockedMs) },
        "the event loop was blocked: no task of this process could go on. Tasks that compute belong on threads: blocking: true",
      );
    }
    if (blockedMs >= worker.runningStaleThresholdMs) onLongBlock();
  }
}
