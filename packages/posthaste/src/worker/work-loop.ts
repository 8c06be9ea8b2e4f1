/**
 * The worker's loop: one round trip after the other, each carrying everything that is ready at that moment. While one is
 * under way, bodies end and slots free up; the next takes it all. Nothing lingers and nothing is asked for in vain.
 */
import type { WakeHint } from "../domain/wake-hint.ts";
import { wakeQueues } from "../engine/wake-workers.ts";
import { runCycle } from "../engine/work-cycle.ts";
import { Bell } from "../runtime/bell.ts";
import { nextTurn } from "../runtime/pause.ts";
import type { Connection } from "../store/connection.ts";
import { Link } from "../store/link.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import { announceEnds, runEvent } from "./announce-runs.ts";
import { beginAdopted, beginTasks, slotsFor, type Beginner } from "./begin-tasks.ts";
import { AheadLine } from "./ahead-line.ts";
import { ClaimDesk } from "./claim-desk.ts";
import { keepClaims } from "./claim-keeper.ts";
import { EndLanes } from "./end-lanes.ts";
import { FollowUps } from "./follow-ups.ts";
import { ABORT_GRACE_MS, HeldTasks, whatCameBack, type EndedTask } from "./held-tasks.ts";
import { InterruptedRuns } from "./interrupted-runs.ts";
import { Outage } from "./outage.ts";
import { planCycle, type LoopPlan } from "./plan-cycle.ts";
import { unlessItFails } from "./reserved-slots.ts";
import { reviewSettles } from "./review-settles.ts";
import { SlotKeeper, type SlotKeeperOptions } from "./slot-keeper.ts";
import { isRefusal, settleOneByOne, settlePlain } from "./settle-one-by-one.ts";
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
  readonly #lanes: EndLanes;
  readonly #aheadLine: AheadLine;
  readonly #beginner: Beginner;
  readonly #unknown: UnknownNames;
  /** Set when a claim or a finish may have gone through unnoticed, and every heartbeat: compare with what is stored. */
  #isCheckDue = false;
  #isChecking = false;
  /** What was to be given back while a claim was under way, which may bring more of it. */
  #releases: ((task: ClaimedTask) => boolean)[] = [];
  #isClaiming = false;
  #isDraining = false;
  #isGivenUp = false;
  /** Others may have taken what is held here, because no heartbeat could be written. */
  #isFenced = false;
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
    const mayStart = (): boolean => !this.#isFenced && !this.#isGivenUp;
    const keeping: SlotKeeperOptions = {
      loop: options,
      held: this.held,
      desk: this.#desk,
      unknown: this.#unknown,
      isFree: () => mayStart() && !this.#isDraining && !this.#isClaiming,
      isDraining: () => this.#isDraining,
      // One that is not run here is found when what is held is compared with what is stored, by whoever has it then.
      run: (task) => {
        if (!mayStart()) return;
        this.#moment = performance.now();
        this.#run(task);
      },
      onReturned: (isUnclear) => (isUnclear ? this.checkClaims() : this.#bell.ring()),
    };
    this.slots = new SlotKeeper(keeping);
    const run = (task: ClaimedTask): void => this.#run(task);
    const [held, unknown, onNotifyError] = [this.held, this.#unknown, this.#onNotifyError];
    this.#beginner = { held, unknown, services, queueRanks: plan.queueRanks, run, onNotifyError };
    this.#aheadLine = new AheadLine({
      held: this.held,
      concurrency: plan.concurrency,
      mayBegin: () => mayStart() && !this.#isCheckDue && !this.#isChecking,
      run,
    });
    this.#lanes = new EndLanes({
      services,
      held: this.held,
      startsAhead: config.startAhead,
      followUps: new FollowUps(keeping),
      onLanded: ({ queue, ...hint }) => {
        if (plan.queues.includes(queue)) this.hint(queue, hint);
      },
      onWritten: () => {
        this.#desk.madeRoom();
        this.#bell.ring();
      },
      onNotifyError: this.#onNotifyError,
    });
    this.#outage = new Outage(config.resilience, options.log, () => database.ping());
    this.interrupted = new InterruptedRuns({
      services,
      plan,
      registry,
      held: this.held,
      onDecided: () => this.#bell.ring(),
    });
  }

  /** Opens its session while the worker is still registering. */
  warmUp(): void {
    this.#link.warmUp();
  }

  /** Something landed in a queue. */
  hint(queue: string, hint: WakeHint): void {
    this.#desk.hint(queue, hint);
    this.#bell.ring();
  }

  /** Something may have landed, nobody knows where. */
  look(): void {
    this.#outage.hearOfReturn(); // who says so has heard from the database
    this.#desk.look();
    this.#bell.ring();
  }

  /** What was fetched ahead is given back: of a queue that was paused, or because somebody has cancelled it. */
  releaseAhead(isMeant: (task: ClaimedTask) => boolean): void {
    this.held.releaseAhead(isMeant);
    if (this.#isClaiming) this.#releases.push(isMeant);
    this.#bell.ring();
  }

  /** Compare what is held with what is stored. */
  checkClaims(): void {
    this.#isCheckDue = true;
    this.#bell.ring();
  }

  /** Claims nothing more, gives back what was fetched ahead, and returns when everything else has ended. */
  drain(): void {
    this.#isDraining = true;
    this.held.releaseAhead();
    this.#bell.ring();
  }

  /**
   * While fenced: nothing is claimed or started, and what runs is told to stop. When the worker is heard again, the crash rule
   * decides about what is still its own.
   */
  fence(isFenced: boolean): void {
    this.#isFenced = isFenced;
    if (!isFenced) return this.checkClaims();
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
    this.#isGivenUp = true;
    this.#outage.cutShort();
    this.#bell.ring();
  }

  ring(): void {
    this.#bell.ring();
  }

  async run(): Promise<void> {
    // What may be stored under its name and is not known here is looked for before it ends.
    while (!this.#isGivenUp && !(this.#isDraining && this.held.isEmpty && !this.#isCheckDue)) {
      // One moment for all three questions: what falls due between two of them would be slept over.
      const now = (this.#moment = performance.now());
      this.#outage.refusedEnds(this.held.refusedCount);
      this.#lanes.flush();
      if (!this.#isFenced && !this.held.isShuttingDown) this.interrupted.afterCutOff();
      // First the comparison with what is stored: claims that it finds take slots which a plan made before would give away.
      const plan = this.#isCheckDue ? undefined : this.#plan(now);
      const isSurveyDue = !this.#isDraining && this.#desk.isSurveyDue(now);
      if (plan === undefined) this.#aheadLine.begin();
      if (plan === undefined && !isSurveyDue && !this.#isCheckDue) {
        if (this.held.refusedCount === 0) this.#outage.over(); // nothing is left of what failed
        await this.#bell.wait(Math.min(this.#restMs(now), this.held.retryInMs(now)));
        await nextTurn(); // bodies that end in the same turn are written together
        continue;
      }
      try {
        const connection = await this.#link.connection();
        await watchLink(this.#options.database, connection, async () => {
          // Asked for meanwhile, it comes first: the plan is made anew.
          if (this.#isCheckDue) return this.#check(connection);
          if (isSurveyDue) await this.#desk.survey(connection);
          if (plan === undefined) return;
          await this.#cycle(connection, plan);
          this.#outage.over(); // a look that succeeds does not say that a write will
        });
      } catch (error) {
        await this.#recover(error, plan);
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#link.close(), this.#lanes.close()]);
  }

  #restMs(now: number): number {
    const hasRoom = !this.#isDraining && this.held.busyCount < this.#options.plan.concurrency;
    return hasRoom ? this.#desk.restMs(now) : Infinity;
  }

  #plan(now: number): LoopPlan | undefined {
    const { concurrency } = this.#options.plan;
    const [held, desk] = [this.held, this.#desk];
    const mayStart = !this.#isFenced;
    const writesEnds = !this.#lanes.writeAll;
    const mayClaim = mayStart && !this.#isDraining;
    return planCycle({ held, desk, concurrency, mayStart, mayClaim, writesEnds }, now);
  }

  async #cycle(connection: Connection, plan: LoopPlan): Promise<void> {
    const { database, services } = this.#options;
    const onNotifyError = this.#onNotifyError;
    const { settles } = plan;
    const wakesBefore = this.#desk.wakes;
    this.#releases = []; // of a claim that failed: what that brought is looked at when it is found
    this.#isClaiming = plan.claim !== undefined || plan.ahead !== undefined;
    const slots = slotsFor(this.held, plan);
    const answer = runCycle(database.store, connection, plan, onNotifyError);
    this.#aheadLine.begin(); // not before: bodies run while the database works
    const reply = await unlessItFails(slots, answer).finally(() => (this.#isClaiming = false));
    this.#moment = performance.now();
    this.held.written(settles);
    if (reply.settle !== undefined) announceEnds(services, settles, reply.settle);
    if (beginTasks(this.#beginner, { connection, plan, reply, slots })) this.#isCheckDue = true;
    // Fetched by a cycle that was under way when a queue was paused, or the worker was told to stop.
    for (const isMeant of this.#releases.splice(0)) this.held.releaseAhead(isMeant);
    if (this.#isDraining) this.held.releaseAhead();
    this.#desk.fed(plan.claim, reply.claim, wakesBefore);
    this.#desk.fed(plan.ahead, reply.ahead, wakesBefore);
    if ((reply.start?.heldBack.length ?? 0) > 0) this.#desk.heldBack();
    const { own, others } = whatCameBack(settles);
    for (const { queue, ...hint } of own) this.hint(queue, hint);
    if (others.length > 0) wakeQueues(connection, database.store, others).catch(onNotifyError);
    if (reply.settle !== undefined)
      await reviewSettles({ services, connection, settles, reply: reply.settle, onNotifyError });
  }

  #run(task: ClaimedTask): void {
    const { registry, services } = this.#options;
    const run = new TaskRun(task, registry.get(task.name), services, this.#moment);
    this.held.running.add(run);
    services.taskLog.began(task);
    services.hooks.emit.taskStarted?.(runEvent(task, services.workerId));
    run.run(this.#ended);
  }

  readonly #ended = (run: TaskRun, ended: EndedTask | undefined): void => {
    // Given back meanwhile, at the end of the grace period: the claim is not ours to settle any more.
    if (!this.held.letGo(run)) return;
    if (ended !== undefined) this.held.end(ended);
    else this.#desk.madeRoom();
    this.#lanes.flush();
    this.#aheadLine.begin();
    this.#bell.ring();
  };

  /** Adopts claims whose acknowledgement was lost; lets go of tasks that are not ours any more. */
  async #check(connection: Connection): Promise<void> {
    this.#isCheckDue = false;
    this.#isChecking = true;
    const { services, plan } = this.#options;
    const { adopted, unknown } = await keepClaims({
      services,
      connection,
      graceMs: plan.shutdownGraceMs,
      held: this.held,
    });
    beginAdopted(this.#beginner, adopted, plan.concurrency - this.held.busyCount);
    this.interrupted.ofEarlierState(unknown);
    if (this.#isDraining) this.held.releaseAhead();
    this.#isChecking = false;
  }

  async #recover(error: unknown, plan: LoopPlan | undefined): Promise<void> {
    for (const request of [plan?.claim, plan?.ahead])
      if (request?.claimSeed !== undefined) this.held.seeds.unanswered(request.claimSeed);
    this.#isCheckDue = true;
    const settles = plan?.settles ?? [];
    if (settles.length === 0 || !isRefusal(error)) return this.#outage.wait(error);
    this.#options.log.debug({ error: String(error) }, "a round trip of the worker failed");
    const { services } = this.#options;
    const write = settlePlain(services, this.#onNotifyError);
    try {
      // One of the ends may be what PostgreSQL refused. If none is, the next round trip fails without them.
      await settleOneByOne({ services, settles, held: this.held, link: this.#link, write });
    } catch (lost) {
      await this.#outage.wait(lost);
    }
  }

  readonly #onNotifyError = (error: unknown): void =>
    this.#options.log.debug({ error: String(error) }, "waiters were not told; they will poll");
}
