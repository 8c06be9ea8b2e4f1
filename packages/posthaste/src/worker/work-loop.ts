/**
 * Joins the stages of a worker: the claim loop (`run`), the start of an attempt (`#run`) and its end (`#ended`). The loop makes one round trip after the other. Each starts prefetched tasks that got a slot and claims as many tasks as fit.
 * While a round trip is under way, handlers end and slots become free; the next one uses them all. Completers write the ends
 * (settlement/completer.ts) beside it. claiming/loop-mode.ts says what the loop may do when.
 */
import type { Config } from "../config/config.ts";
import type { WorkerSettings } from "../config/worker-options.ts";
import type { Database } from "../database/database.ts";
import type { Logger } from "../domain/logger.ts";
import type { WakeHint } from "../domain/wake-hint.ts";
import { nextTurn } from "../runtime/pause.ts";
import { WakeSignal } from "../runtime/wake-signal.ts";
import type { LocalWorkers } from "../sending/send-together.ts";
import type { Connection } from "../store/connection.ts";
import { Link } from "../store/link.ts";
import type { ClaimedTask } from "../store/queries/claim/claim-tasks.ts";
import { ChainedClaims } from "./claiming/chained-claims.ts";
import { ClaimRequester } from "./claiming/claim-requester.ts";
import {
  runClaimRound,
  type ClaimRound,
  type ClaimUnderWay,
} from "./claiming/claim-transaction.ts";
import { DirectStart, type SideClaimOptions } from "./claiming/direct-start.ts";
import {
  isDraining,
  isFenced,
  mayClaim,
  mayStart,
  nextMode,
  type LoopEvent,
  type LoopMode,
} from "./claiming/loop-mode.ts";
import { nextRound } from "./claiming/next-round.ts";
import { reconcileClaims } from "./claiming/reconcile-claims.ts";
import {
  startAdopted,
  startClaimed,
  slotsFor,
  type ClaimStarter,
} from "./claiming/start-claimed.ts";
import { UnknownNames } from "./claiming/unknown-names.ts";
import { watchConnection } from "./connection-watchdog.ts";
import type { AttemptServices, TaskRegistry } from "./execution/attempt-services.ts";
import { Attempt } from "./execution/attempt.ts";
import { emitStart } from "./execution/emit-attempt-events.ts";
import type { EndedTask } from "./execution/ended-task.ts";
import { Outage, OutageReport } from "./outage.ts";
import { InterruptedAttempts } from "./settlement/interrupted-attempts.ts";
import { Settlement } from "./settlement/settlement.ts";
import { ABORT_GRACE_MS, InFlightTasks } from "./slots/in-flight.ts";
import { PrefetchedStarts } from "./slots/prefetched-starts.ts";

export interface WorkLoopOptions {
  readonly database: Database;
  readonly config: Config;
  readonly settings: WorkerSettings;
  readonly registry: TaskRegistry;
  readonly services: AttemptServices;
  /** Where the sender of the same app finds free slots. */
  readonly localWorkers: LocalWorkers;
  readonly log: Logger;
}

export class WorkLoop {
  readonly inFlight = new InFlightTasks();
  readonly directStart: DirectStart;
  readonly interrupted: InterruptedAttempts;
  readonly #options: WorkLoopOptions;
  readonly #requester: ClaimRequester;
  readonly #wakeSignal = new WakeSignal();
  readonly #outage: Outage;
  readonly #link: Link;
  readonly #settlement: Settlement;
  readonly #prefetchedStarts: PrefetchedStarts;
  readonly #starter: ClaimStarter;
  readonly #unknown: UnknownNames;
  #mode: LoopMode = "claiming";
  /** A claim or an end may have been committed without an answer; also set once per heartbeat interval, and when the listener is up again: compare claims with the database. */
  #needsReconcile = false;
  #isReconciling = false;
  /** The loop has a round under way on its own session: no claim travels with ends meanwhile. */
  #isInRoundTrip = false;
  /** Set while a claim is under way, the loop's own or one that travels with ends. Its answer wakes the loop. */
  #claimAnswered: WakeSignal | undefined;
  /** Why the last one failed, until the loop has waited for the database. */
  #claimError: { readonly error: unknown } | undefined;
  /** Prefetched tasks to release that were asked for while a claim was under way, which may bring more of them. */
  #releases: ((task: ClaimedTask) => boolean)[] = [];
  /** When the loop last looked at the clock. Handlers that begin together share it. */
  #moment = 0;

  constructor(options: WorkLoopOptions) {
    this.#options = options;
    const { config, settings, registry, services, database } = options;
    this.#link = new Link(() => database.open("moves", "worker"));
    this.#requester = new ClaimRequester({
      store: database.store,
      config,
      settings,
      workerId: services.workerId,
      unknownNames: () => this.#unknown.met,
    });
    this.#unknown = new UnknownNames({ ...options, inFlight: this.inFlight });
    const starting: SideClaimOptions = {
      config,
      settings,
      registry,
      workerId: services.workerId,
      inFlight: this.inFlight,
      requester: this.#requester,
      unknown: this.#unknown,
      isFree: () =>
        mayClaim(this.#mode) && this.#claimAnswered === undefined && !this.inFlight.isBehind,
      isDraining: () => isDraining(this.#mode),
      // A task that is not started here is found by the next comparison of claims.
      run: (task) => {
        if (!mayStart(this.#mode)) return;
        this.#moment = performance.now();
        this.#run(task);
      },
      onReturned: (isUnclear) => (isUnclear ? this.requestReconcile() : this.#wakeSignal.wake()),
    };
    this.directStart = new DirectStart(starting);
    const run = (task: ClaimedTask): void => this.#run(task);
    this.#starter = {
      inFlight: this.inFlight,
      unknown: this.#unknown,
      services,
      queueRanks: settings.queueRanks,
      run,
    };
    this.#prefetchedStarts = new PrefetchedStarts({
      inFlight: this.inFlight,
      concurrency: settings.concurrency,
      mayBegin: () => mayStart(this.#mode) && !this.#needsReconcile && !this.#isReconciling,
      run,
    });
    const report = new OutageReport(options.log);
    this.#outage = new Outage(config.resilience, report, () => database.ping());
    this.#settlement = new Settlement({
      services,
      // Ends are kept for as long as the worker lives: only the loop gives up after `dbRetryMaxAttempts`.
      outage: () =>
        new Outage({ ...config.resilience, dbRetryMaxAttempts: 0 }, report, () => database.ping()),
      inFlight: this.inFlight,
      chainedClaims: new ChainedClaims(starting),
      carryClaim: () => this.#carryClaim(),
      onQueueHint: ({ queue, ...hint }) => {
        if (settings.queues.includes(queue)) this.hint(queue, hint);
      },
      onSent: () => this.#wakeSignal.wake(),
      onWritten: () => {
        this.#requester.madeRoom();
        this.#wakeSignal.wake();
      },
    });
    this.interrupted = new InterruptedAttempts({
      services,
      settings,
      registry,
      inFlight: this.inFlight,
      onDecided: () => this.#wakeSignal.wake(),
    });
  }

  /** Opens its sessions while the worker is still registering. */
  warmUp(): void {
    this.#link.warmUp();
    this.#settlement.warmUp();
  }

  /** A task was sent to this queue, or returned to it. */
  hint(queue: string, hint: WakeHint): void {
    this.#requester.hint(queue, hint);
    this.#wakeSignal.wake();
  }

  /** Tasks may have been sent to any queue. */
  look(): void {
    // The caller has reached the database.
    this.#outage.onReachable();
    this.#settlement.onReachable();
    this.#requester.look();
    this.#wakeSignal.wake();
  }

  /** Releases prefetched tasks: their queue was paused, or they were cancelled. */
  releasePrefetched(isMeant: (task: ClaimedTask) => boolean): void {
    this.inFlight.releasePrefetched(isMeant);
    if (this.#claimAnswered !== undefined) this.#releases.push(isMeant);
    this.#wakeSignal.wake();
  }

  /** Compares the claims of this worker with the database in the next round. */
  requestReconcile(): void {
    this.#needsReconcile = true;
    this.#wakeSignal.wake();
  }

  /** Claims no more tasks, releases the prefetched ones, and lets the loop end when all attempts have ended. */
  drain(): void {
    this.#enter("drain");
    this.inFlight.releasePrefetched();
    this.#wakeSignal.wake();
  }

  /**
   * A fenced worker claims and starts no task, and tells its handlers to stop. When its heartbeats are written again, the crash
   * rule decides about the tasks that are still its own.
   */
  fence(mustFence: boolean): void {
    this.#enter(mustFence ? "fence" : "unfence");
    if (!mustFence) return this.requestReconcile();
    const attempts = [...this.inFlight.running];
    for (const attempt of attempts) attempt.abort("CLAIM_LOST");
    setTimeout(() => this.abandon(attempts), ABORT_GRACE_MS).unref();
  }

  /** Releases the tasks of those attempts that have not ended. */
  abandon(attempts: readonly Attempt[]): void {
    this.inFlight.abandon(attempts);
    this.#wakeSignal.wake();
  }

  /** Ends the loop although ends are not written: the database has been unreachable for too long. */
  giveUp(): void {
    this.#enter("giveUp");
    this.#outage.cutShort();
    this.#claimAnswered?.wake(); // its answer may never come
    this.#wakeSignal.wake();
  }

  get isFenced(): boolean {
    return isFenced(this.#mode);
  }

  wake(): void {
    this.#wakeSignal.wake();
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      // One moment for all three questions: the loop would sleep past a task that falls due between two of them.
      const now = (this.#moment = performance.now());
      this.#settlement.flush();
      if (!isFenced(this.#mode) && !this.inFlight.isShuttingDown) this.interrupted.afterCutOff();
      if (this.#claimAnswered !== undefined) {
        this.#prefetchedStarts.begin();
        // Handlers that end meanwhile do not wake the loop: at concurrency 100 that took a tenth of Node's time.
        await this.#claimAnswered.wait(Infinity);
        continue;
      }
      if (this.#claimError !== undefined) {
        const { error } = this.#claimError;
        this.#claimError = undefined;
        await this.#outage.wait(error);
        continue;
      }
      // The comparison of claims comes first: claims that it finds take slots which a round made before would give away.
      const round = this.#needsReconcile ? undefined : this.#nextRound(now);
      const isSurveyDue = !isDraining(this.#mode) && this.#requester.isSurveyDue(now);
      if (round === undefined) this.#prefetchedStarts.begin();
      if (round === undefined && !isSurveyDue && !this.#needsReconcile) {
        if (this.inFlight.refusedCount === 0) this.#outage.over(); // no end is left to retry
        await this.#wakeSignal.wait(Math.min(this.#restMs(now), this.inFlight.rewriteInMs(now)));
        // Handlers that end in the same turn free their slots together.
        if (this.inFlight.busyCount > 0) await nextTurn();
        continue;
      }
      this.#isInRoundTrip = true;
      try {
        const connection = await this.#link.connection();
        await watchConnection(this.#options.database, connection, async () => {
          // A comparison that was asked for meanwhile comes first: the round is made again after it.
          if (this.#needsReconcile) return this.#reconcile(connection);
          if (isSurveyDue) await this.#requester.survey(connection);
          if (round === undefined) return;
          await this.#claim(connection, round);
        });
      } catch (error) {
        this.#needsReconcile = true;
        await this.#outage.wait(error);
      } finally {
        this.#isInRoundTrip = false;
      }
    }
  }

  /** Before the loop ends it looks for stored claims of this worker that it does not know. */
  get #isOver(): boolean {
    if (this.#mode === "stopped") return true;
    return isDraining(this.#mode) && this.inFlight.isEmpty && !this.#needsReconcile;
  }

  async close(): Promise<void> {
    await Promise.all([this.#link.close(), this.#settlement.close()]);
  }

  #enter(event: LoopEvent): void {
    this.#mode = nextMode(this.#mode, event);
  }

  #restMs(now: number): number {
    const hasRoom =
      !isDraining(this.#mode) && this.inFlight.busyCount < this.#options.settings.concurrency;
    return hasRoom ? this.#requester.restMs(now) : Infinity;
  }

  #nextRound(now: number): ClaimRound | undefined {
    const { concurrency } = this.#options.settings;
    const given = { inFlight: this.inFlight, requester: this.#requester, mode: this.#mode };
    return nextRound({ ...given, concurrency }, now);
  }

  async #claim(connection: Connection, round: ClaimRound): Promise<void> {
    const claim = this.#beginClaim(round);
    const answer = runClaimRound(this.#options.database.store, connection, round);
    this.#prefetchedStarts.begin(); // not before: handlers run while the database works
    await answer.then(
      (reply) => claim.taken(connection, reply),
      (error: unknown) => claim.failed(error),
    );
  }

  /** A claim that travels with ends: one commit, or at least one packet, instead of two. */
  #carryClaim(): ClaimUnderWay | undefined {
    // A worker that starts ahead sends both at once on two sessions: its handlers do not wait for a claim.
    if (this.#options.config.startAhead || !mayClaim(this.#mode)) return undefined;
    if (this.#isInRoundTrip || this.#claimAnswered !== undefined) return undefined;
    if (this.#needsReconcile || this.#claimError !== undefined) return undefined;
    this.#requester.madeRoom(); // the ends are written first
    const round = this.#nextRound(performance.now());
    return round === undefined ? undefined : this.#beginClaim(round);
  }

  #beginClaim(round: ClaimRound): ClaimUnderWay {
    const wakesBefore = this.#requester.wakes;
    this.#releases = []; // a failed claim: its tasks are released when reconciliation finds them
    this.#claimAnswered = new WakeSignal();
    const slots = slotsFor(this.inFlight, round);
    return {
      round,
      taken: (connection, reply) => {
        this.#claimIsBack();
        this.#moment = performance.now();
        const isUnclear = startClaimed(this.#starter, { connection, round, reply, slots });
        if (isUnclear) this.#needsReconcile = true;
        // Prefetched by a claim that was under way when a queue was paused, or when the worker was told to stop.
        for (const isMeant of this.#releases.splice(0)) this.inFlight.releasePrefetched(isMeant);
        if (isDraining(this.#mode)) this.inFlight.releasePrefetched();
        this.#outage.over(); // only now: a survey can succeed while claims fail
        this.#requester.onReply(round.claim, reply.claim, wakesBefore);
        this.#requester.onReply(round.prefetch, reply.prefetch, wakesBefore);
        if ((reply.start?.heldBack.length ?? 0) > 0) this.#requester.heldBack();
      },
      failed: (error) => {
        this.#claimIsBack();
        this.#claimError = { error };
        slots.release();
        for (const request of [round.claim, round.prefetch])
          if (request?.claimSeed !== undefined) this.inFlight.seeds.unanswered(request.claimSeed);
        this.requestReconcile();
      },
    };
  }

  #claimIsBack(): void {
    this.#claimAnswered?.wake();
    this.#claimAnswered = undefined;
    this.#wakeSignal.wake();
  }

  #run(task: ClaimedTask): void {
    const { registry, services } = this.#options;
    const attempt = new Attempt(task, registry.get(task.name), services, this.#moment);
    this.inFlight.running.add(attempt);
    emitStart(services, task);
    attempt.run(this.#ended);
  }

  readonly #ended = (attempt: Attempt, ended: EndedTask | undefined): void => {
    // The worker has released it at the end of the grace period: this claim must not be settled again.
    if (!this.inFlight.remove(attempt)) return;
    if (ended !== undefined) this.inFlight.end(ended);
    else this.#requester.madeRoom();
    this.#settlement.flush();
    this.#prefetchedStarts.begin();
    this.#wakeSignal.wake();
  };

  /** Adopts claims whose answer was lost, and drops tasks that are no longer this worker's. */
  async #reconcile(connection: Connection): Promise<void> {
    this.#needsReconcile = false;
    this.#isReconciling = true;
    const { services, settings } = this.#options;
    const { adopted, unknown } = await reconcileClaims({
      services,
      connection,
      graceMs: settings.shutdownGraceMs,
      inFlight: this.inFlight,
    });
    startAdopted(this.#starter, adopted, settings.concurrency - this.inFlight.busyCount);
    this.interrupted.ofEarlierState(unknown);
    if (isDraining(this.#mode)) this.inFlight.releasePrefetched();
    this.#isReconciling = false;
  }
}
