/**
 * The claim loop: one round trip after the other. Each starts prefetched tasks that got a slot and claims as many tasks as fit.
 * While a round trip is under way, handlers end and slots become free; the next one uses them all. Completers write the ends
 * (settlement/completer.ts) beside it. claiming/loop-mode.ts says what the loop may do when.
 */
import type { WakeHint } from "../domain/wake-hint.ts";
import { Bell } from "../runtime/bell.ts";
import { nextTurn } from "../runtime/pause.ts";
import type { Connection } from "../store/connection.ts";
import { Link } from "../store/link.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import { AheadLine } from "./ahead-line.ts";
import { beginAdopted, beginTasks, slotsFor, type Beginner } from "./begin-tasks.ts";
import { ClaimDesk } from "./claim-desk.ts";
import { keepClaims } from "./claim-keeper.ts";
import { claimAndStart } from "./claiming/claim-transaction.ts";
import type { ClaimUnderWay } from "./claiming/claim-under-way.ts";
import {
  isDraining,
  isFenced,
  mayClaim,
  mayStart,
  nextMode,
  type LoopEvent,
  type LoopMode,
} from "./claiming/loop-mode.ts";
import { planClaim, type LoopPlan } from "./claiming/plan-claim.ts";
import { FollowUps } from "./follow-ups.ts";
import { ABORT_GRACE_MS, HeldTasks, type EndedTask } from "./held-tasks.ts";
import { InterruptedRuns } from "./interrupted-runs.ts";
import { Outage, OutageReport } from "./outage.ts";
import { emitStart } from "./settlement/emit-attempt-events.ts";
import { Settlement } from "./settlement/settlement.ts";
import { SlotKeeper, type SlotKeeperOptions } from "./slot-keeper.ts";
import { TaskRun } from "./task-run.ts";
import { UnknownNames } from "./unknown-names.ts";
import { watchLink } from "./watch-link.ts";
import type { WorkLoopOptions } from "./work-loop-options.ts";

export class WorkLoop {
  readonly held = new HeldTasks();
  readonly slots: SlotKeeper;
  readonly interrupted: InterruptedRuns;
  readonly #options: WorkLoopOptions;
  readonly #desk: ClaimDesk;
  readonly #bell = new Bell();
  readonly #outage: Outage;
  readonly #link: Link;
  readonly #settlement: Settlement;
  readonly #aheadLine: AheadLine;
  readonly #beginner: Beginner;
  readonly #unknown: UnknownNames;
  #mode: LoopMode = "claiming";
  /** A claim or an end may have been committed without an answer; also set by every heartbeat: compare claims with the database. */
  #needsReconcile = false;
  #isReconciling = false;
  /** The loop has made a plan and carries it out on its own session: no claim travels with ends meanwhile. */
  #isInRoundTrip = false;
  /** A claim is on its way, of the loop's own or one that travels with ends: there is one at a time. Rings when it is back. */
  #claimUnderWay: Bell | undefined;
  /** Why the last one failed, until the loop has waited for the database. */
  #claimError: { readonly error: unknown } | undefined;
  /** Prefetched tasks to release that were asked for while a claim was under way, which may bring more of them. */
  #releases: ((task: ClaimedTask) => boolean)[] = [];
  /** When the loop last looked at the clock. Handlers that begin together share it. */
  #moment = 0;

  constructor(options: WorkLoopOptions) {
    this.#options = options;
    const { config, plan, registry, services, database } = options;
    this.#link = new Link(() => database.open("moves", "worker"));
    this.#desk = new ClaimDesk({
      store: database.store,
      config,
      plan,
      workerId: services.workerId,
      unknownNames: () => this.#unknown.met,
    });
    this.#unknown = new UnknownNames({ ...options, held: this.held });
    const starting: SlotKeeperOptions = {
      loop: options,
      held: this.held,
      desk: this.#desk,
      unknown: this.#unknown,
      isFree: () =>
        mayClaim(this.#mode) && this.#claimUnderWay === undefined && !this.held.isBehind,
      isDraining: () => isDraining(this.#mode),
      // A task that is not started here is found by the next comparison of claims.
      run: (task) => {
        if (!mayStart(this.#mode)) return;
        this.#moment = performance.now();
        this.#run(task);
      },
      onReturned: (isUnclear) => (isUnclear ? this.checkClaims() : this.#bell.ring()),
    };
    this.slots = new SlotKeeper(starting);
    const run = (task: ClaimedTask): void => this.#run(task);
    this.#beginner = {
      held: this.held,
      unknown: this.#unknown,
      services,
      queueRanks: plan.queueRanks,
      run,
    };
    this.#aheadLine = new AheadLine({
      held: this.held,
      concurrency: plan.concurrency,
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
      held: this.held,
      followUps: new FollowUps(starting),
      carryClaim: () => this.#carryClaim(),
      onLanded: ({ queue, ...hint }) => {
        if (plan.queues.includes(queue)) this.hint(queue, hint);
      },
      onSent: () => this.#bell.ring(),
      onWritten: () => {
        this.#desk.madeRoom();
        this.#bell.ring();
      },
    });
    this.interrupted = new InterruptedRuns({
      services,
      plan,
      registry,
      held: this.held,
      onDecided: () => this.#bell.ring(),
    });
  }

  /** Opens its sessions while the worker is still registering. */
  warmUp(): void {
    this.#link.warmUp();
    this.#settlement.warmUp();
  }

  /** Something landed in a queue. */
  hint(queue: string, hint: WakeHint): void {
    this.#desk.hint(queue, hint);
    this.#bell.ring();
  }

  /** Something may have landed, nobody knows where. */
  look(): void {
    // The caller has heard from the database.
    this.#outage.hearOfReturn();
    this.#settlement.hearOfReturn();
    this.#desk.look();
    this.#bell.ring();
  }

  /** What was fetched ahead is given back: of a queue that was paused, or because somebody has cancelled it. */
  releaseAhead(isMeant: (task: ClaimedTask) => boolean): void {
    this.held.releaseAhead(isMeant);
    if (this.#claimUnderWay !== undefined) this.#releases.push(isMeant);
    this.#bell.ring();
  }

  /** Compare what is held with what is stored. */
  checkClaims(): void {
    this.#needsReconcile = true;
    this.#bell.ring();
  }

  /** Claims nothing more, gives back what was fetched ahead, and returns when everything else has ended. */
  drain(): void {
    this.#enter("drain");
    this.held.releaseAhead();
    this.#bell.ring();
  }

  /**
   * While fenced: nothing is claimed or started, and what runs is told to stop. When the worker is heard again, the crash rule
   * decides about what is still its own.
   */
  fence(mustFence: boolean): void {
    this.#enter(mustFence ? "fence" : "unfence");
    if (!mustFence) return this.checkClaims();
    const runs = [...this.held.running];
    for (const run of runs) run.abort("CLAIM_LOST");
    setTimeout(() => this.abandon(runs), ABORT_GRACE_MS).unref();
  }

  /** Gives back those of these runs that have not ended. */
  abandon(runs: readonly TaskRun[]): void {
    this.held.abandon(runs);
    this.#bell.ring();
  }

  /** Ends the loop even though something is not written: the database has been away for too long. */
  giveUp(): void {
    this.#enter("giveUp");
    this.#outage.cutShort();
    this.#claimUnderWay?.ring(); // its answer may never come
    this.#bell.ring();
  }

  ring(): void {
    this.#bell.ring();
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      // One moment for all three questions: what falls due between two of them would be slept over.
      const now = (this.#moment = performance.now());
      this.#settlement.flush();
      if (!isFenced(this.#mode) && !this.held.isShuttingDown) this.interrupted.afterCutOff();
      if (this.#claimUnderWay !== undefined) {
        this.#aheadLine.begin();
        // Not for every handler that ends meanwhile: at concurrency 100 that took a tenth of Node's time.
        await this.#claimUnderWay.wait(Infinity);
        continue;
      }
      if (this.#claimError !== undefined) {
        const { error } = this.#claimError;
        this.#claimError = undefined;
        await this.#outage.wait(error);
        continue;
      }
      // The comparison of claims comes first: claims that it finds take slots which a plan made before would give away.
      const plan = this.#needsReconcile ? undefined : this.#plan(now);
      const isSurveyDue = !isDraining(this.#mode) && this.#desk.isSurveyDue(now);
      if (plan === undefined) this.#aheadLine.begin();
      if (plan === undefined && !isSurveyDue && !this.#needsReconcile) {
        if (this.held.refusedCount === 0) this.#outage.over(); // nothing is left of what failed
        await this.#bell.wait(Math.min(this.#restMs(now), this.held.retryInMs(now)));
        await nextTurn(); // handlers that end in the same turn free their slots together
        continue;
      }
      this.#isInRoundTrip = true;
      try {
        const connection = await this.#link.connection();
        await watchLink(this.#options.database, connection, async () => {
          // A comparison that was asked for meanwhile comes first: the plan is made again after it.
          if (this.#needsReconcile) return this.#check(connection);
          if (isSurveyDue) await this.#desk.survey(connection);
          if (plan === undefined) return;
          await this.#claim(connection, plan);
        });
      } catch (error) {
        this.#needsReconcile = true;
        await this.#outage.wait(error);
      } finally {
        this.#isInRoundTrip = false;
      }
    }
  }

  /** Claims that may be stored for this worker and that it does not know are looked for before it ends. */
  get #isOver(): boolean {
    if (this.#mode === "stopped") return true;
    return isDraining(this.#mode) && this.held.isEmpty && !this.#needsReconcile;
  }

  async close(): Promise<void> {
    await Promise.all([this.#link.close(), this.#settlement.close()]);
  }

  #enter(event: LoopEvent): void {
    this.#mode = nextMode(this.#mode, event);
  }

  #restMs(now: number): number {
    const hasRoom = !isDraining(this.#mode) && this.held.busyCount < this.#options.plan.concurrency;
    return hasRoom ? this.#desk.restMs(now) : Infinity;
  }

  #plan(now: number): LoopPlan | undefined {
    const { concurrency } = this.#options.plan;
    const mode = this.#mode;
    const allowed = { mayStart: !isFenced(mode), mayClaim: mayClaim(mode) };
    return planClaim({ held: this.held, desk: this.#desk, concurrency, ...allowed }, now);
  }

  async #claim(connection: Connection, plan: LoopPlan): Promise<void> {
    const claim = this.#beginClaim(plan);
    const answer = claimAndStart(this.#options.database.store, connection, plan);
    this.#aheadLine.begin(); // not before: handlers run while the database works
    await answer.then(
      (reply) => claim.taken(connection, reply),
      (error: unknown) => claim.failed(error),
    );
  }

  /** A claim that travels with ends: one commit, or at least one packet, instead of two. */
  #carryClaim(): ClaimUnderWay | undefined {
    // A worker that starts ahead sends both at once on two sessions: its handlers do not wait for a claim.
    if (this.#options.config.startAhead || !mayClaim(this.#mode)) return undefined;
    if (this.#isInRoundTrip || this.#claimUnderWay !== undefined) return undefined;
    if (this.#needsReconcile || this.#claimError !== undefined) return undefined;
    this.#desk.madeRoom(); // the ends are written first
    const plan = this.#plan(performance.now());
    return plan === undefined ? undefined : this.#beginClaim(plan);
  }

  #beginClaim(plan: LoopPlan): ClaimUnderWay {
    const wakesBefore = this.#desk.wakes;
    this.#releases = []; // those of a claim that failed: its tasks are looked at when they are found
    this.#claimUnderWay = new Bell();
    const slots = slotsFor(this.held, plan);
    return {
      plan,
      taken: (connection, reply) => {
        this.#claimIsBack();
        this.#moment = performance.now();
        const isUnclear = beginTasks(this.#beginner, { connection, plan, reply, slots });
        if (isUnclear) this.#needsReconcile = true;
        // Prefetched by a claim that was under way when a queue was paused, or when the worker was told to stop.
        for (const isMeant of this.#releases.splice(0)) this.held.releaseAhead(isMeant);
        if (isDraining(this.#mode)) this.held.releaseAhead();
        this.#outage.over(); // a look that succeeds does not say that a claim will
        this.#desk.fed(plan.claim, reply.claim, wakesBefore);
        this.#desk.fed(plan.ahead, reply.ahead, wakesBefore);
        if ((reply.start?.heldBack.length ?? 0) > 0) this.#desk.heldBack();
      },
      failed: (error) => {
        this.#claimIsBack();
        this.#claimError = { error };
        slots.release();
        for (const request of [plan.claim, plan.ahead])
          if (request?.claimSeed !== undefined) this.held.seeds.unanswered(request.claimSeed);
        this.checkClaims();
      },
    };
  }

  #claimIsBack(): void {
    this.#claimUnderWay?.ring();
    this.#claimUnderWay = undefined;
    this.#bell.ring();
  }

  #run(task: ClaimedTask): void {
    const { registry, services } = this.#options;
    const run = new TaskRun(task, registry.get(task.name), services, this.#moment);
    this.held.running.add(run);
    emitStart(services, task);
    run.run(this.#ended);
  }

  readonly #ended = (run: TaskRun, ended: EndedTask | undefined): void => {
    // Given back meanwhile, at the end of the grace period: the claim is not ours to settle any more.
    if (!this.held.letGo(run)) return;
    if (ended !== undefined) this.held.end(ended);
    else this.#desk.madeRoom();
    this.#settlement.flush();
    this.#aheadLine.begin();
    this.#bell.ring();
  };

  /** Adopts claims whose answer was lost, and lets go of tasks that are not this worker's any more. */
  async #check(connection: Connection): Promise<void> {
    this.#needsReconcile = false;
    this.#isReconciling = true;
    const { services, plan } = this.#options;
    const { adopted, unknown } = await keepClaims({
      services,
      connection,
      graceMs: plan.shutdownGraceMs,
      held: this.held,
    });
    beginAdopted(this.#beginner, adopted, plan.concurrency - this.held.busyCount);
    this.interrupted.ofEarlierState(unknown);
    if (isDraining(this.#mode)) this.held.releaseAhead();
    this.#isReconciling = false;
  }
}
