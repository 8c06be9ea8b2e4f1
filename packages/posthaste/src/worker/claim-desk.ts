/** Where a worker's claims come from: it knows when to ask, where to look, how much fits and which rules hold. */
import { randomUUID } from "node:crypto";
import type { Config } from "../domain/config.ts";
import type { WakeHint } from "../domain/wake-hint.ts";
import type { WorkerPlan } from "../domain/worker-options.ts";
import type { Connection } from "../store/connection.ts";
import type { ClaimLane, ClaimReply, ClaimRequest } from "../store/queries/claim-tasks.ts";
import { noRules, readOfEach, type ClaimRules } from "../store/queries/pick-ready.ts";
import type { Store } from "../store/store.ts";
import { ClaimAppetite } from "./claim-appetite.ts";
import { claimBudget, type Held } from "./claim-budget.ts";
import { ClaimLanes, hasTies } from "./claim-lanes.ts";

export interface ClaimDeskOptions {
  readonly store: Store;
  readonly config: Config;
  readonly plan: WorkerPlan;
  readonly workerId: string;
  /** Names of tasks that this worker has met and has no handler for: it claims no more of them. */
  readonly unknownNames: () => readonly string[];
}

export interface ClaimRequests {
  /** Tasks to run now. */
  readonly claim: ClaimRequest | undefined;
  /** Tasks to hold until a slot is free. */
  readonly ahead: ClaimRequest | undefined;
}

const MOST_BOOST = 64;
const nothing: ClaimRequests = { claim: undefined, ahead: undefined };

export class ClaimDesk {
  readonly #options: ClaimDeskOptions;
  readonly #lanes: ClaimLanes;
  readonly #appetite: ClaimAppetite;
  /** Grows while claims over many queues come back short, because most of the work is in a few of them. */
  #boost = 1;
  /** What was last fetched ahead was all born running: then one claim serves the slots and the buffer. */
  #bornRunning = false;
  /** Those of the configuration; undefined: there are none. */
  readonly #configured: ClaimRules | undefined;

  constructor(options: ClaimDeskOptions) {
    const { config, plan } = options;
    this.#options = options;
    this.#lanes = new ClaimLanes(plan.queueRanks);
    this.#appetite = new ClaimAppetite(config.resilience.notifyPollIntervalMs);
    this.#configured = claimRules(options);
  }

  /** What a claim must keep to; undefined: nothing but the order. */
  get rules(): ClaimRules | undefined {
    return this.#exceptUnknown(this.#configured);
  }

  /** Something landed in a queue. */
  hint(queue: string, hint: WakeHint): void {
    const now = performance.now();
    this.#lanes.hint(queue, hint, now);
    this.#appetite.wake(hint.due, now);
  }

  /** Something may have landed, nobody knows where. */
  look(): void {
    this.#appetite.lookAround();
  }

  /** Counts what has said that there may be work. */
  get wakes(): number {
    return this.#appetite.wakes;
  }

  /** As far as is known, nothing is in line that it should ask for. */
  isSated(now: number): boolean {
    return !this.#appetite.isHungry(now) && !this.#appetite.isHeldBack;
  }

  /** Whether it may take any number of tasks of this queue, as far as it has slots. */
  takesFreely(queue: string): boolean {
    const { plan, config } = this.#options;
    const isLimited = config.clusterWideCap !== null || plan.maxClaimBatch > 0;
    return plan.queueRanks.has(queue) && !plan.queueCaps.has(queue) && !isLimited;
  }

  /** Where something may be in line, and where these would stand. */
  lanesWith(tasks: readonly { queue: string; priority: number }[]): ClaimLane[] {
    const lanes = this.#lanes.list(true);
    for (const { queue, priority } of tasks) {
      if (!lanes.some((lane) => lane.queue === queue && lane.priority === priority))
        lanes.push({ queue, priority, mark: -Infinity });
    }
    return lanes;
  }

  /** A claim beside those of the loop, where no rule is about what is first in line. */
  requestBeside(limit: number): ClaimRequest | undefined {
    const { workerId, config } = this.#options;
    const lanes = this.#lanes.list(true).filter(({ queue }) => this.takesFreely(queue));
    if (lanes.length === 0) return undefined;
    const rules = this.#exceptUnknown(hasTies(lanes) ? noRules : undefined);
    return { lanes, limit, workerId, leaseMs: config.claimLeaseMs, rules };
  }

  /** What such a claim brought. It has not seen all lanes: it may say that there is work, and not that there is none. */
  fedBeside({ tasks, isFull, nextDueMs }: ClaimReply): void {
    const now = performance.now();
    this.#lanes.advance(tasks, now);
    if (isFull) this.#appetite.wake(0, now);
    else if (nextDueMs !== null) this.#appetite.wake(nextDueMs, now);
  }

  isSurveyDue(now: number): boolean {
    return this.#appetite.isSurveyDue(now);
  }

  restMs(now: number): number {
    return this.#appetite.restMs(now);
  }

  /** Whether what was fetched ahead may be started: not while it waits for room under a cap. */
  mayStart(now: number): boolean {
    return !this.#appetite.isHeldBack || this.#appetite.isRetryDue(now);
  }

  /** Ends were written: there may be room under a cap. */
  madeRoom(): void {
    this.#appetite.madeRoom();
  }

  /** What to ask for now. */
  requests(now: number, held: Held): ClaimRequests {
    if (!this.#appetite.isHungry(now)) return nothing;
    if (this.#lanes.isEmpty) {
      this.#appetite.loseTrack();
      return nothing;
    }
    const { plan, config } = this.#options;
    const { now: free, ahead } = claimBudget(plan, config, held);
    if (this.#bornRunning && ahead > 0) {
      // Half of what it may hold: while one half is fetched, the bodies of the other run.
      const half = Math.ceil((plan.concurrency + config.prefetchBuffer) / 2);
      const limit = Math.min(free + ahead, half);
      return { claim: undefined, ahead: this.#requestAhead(limit, now) };
    }
    return {
      claim: free > 0 ? this.#request(free, now) : undefined,
      ahead: ahead > 0 ? this.#requestAhead(ahead, now) : undefined,
    };
  }

  fed(request: ClaimRequest | undefined, reply: ClaimReply | undefined, wakesBefore: number): void {
    if (request === undefined || reply === undefined) return;
    const now = performance.now();
    this.#lanes.advance(reply.tasks, now);
    if (request.startsAhead === true && reply.tasks.length > 0)
      this.#bornRunning = reply.tasks.every(({ isStarted }) => isStarted === true);
    const isShort = reply.tasks.length + reply.expired.length < request.limit;
    const isUneven = reply.isFull && isShort;
    this.#boost = isUneven ? Math.min(MOST_BOOST, this.#boost * 2) : Math.max(1, this.#boost / 2);
    const { isFull, isHeldBack, nextDueMs } = reply;
    this.#appetite.fed({ isFull, isHeldBack, nextDueMs, wakesBefore }, now);
  }

  /** A start found a cap reached. */
  heldBack(): void {
    this.#appetite.holdBack(performance.now());
  }

  async survey(connection: Connection): Promise<void> {
    const { store, plan } = this.#options;
    const startedAt = performance.now();
    const wakesBefore = this.#appetite.wakes;
    const found = await store.surveyLanes(connection, plan.queues);
    const now = performance.now();
    this.#lanes.correct(found, startedAt);
    const firstDueMs = Math.min(...found.map(({ dueMs }) => dueMs), Infinity);
    this.#appetite.surveyed({ tookMs: now - startedAt, firstDueMs, wakesBefore }, now);
  }

  /** A worker that has met no unknown name pays nothing for this: its statements name none. */
  #exceptUnknown(rules: ClaimRules | undefined): ClaimRules | undefined {
    const unknownNames = this.#options.unknownNames();
    return unknownNames.length === 0 ? rules : { ...(rules ?? noRules), unknownNames };
  }

  #requestAhead(limit: number, now: number): ClaimRequest {
    return { ...this.#request(limit, now), startsAhead: this.#options.config.startAhead };
  }

  #request(limit: number, now: number): ClaimRequest {
    const { workerId, config } = this.#options;
    const lanes = this.#lanes.list(this.#lanes.looksBack(this.#appetite.isFeast, now));
    const rules = this.rules ?? (this.#lanes.hasTies ? noRules : undefined);
    const most = rules === undefined ? undefined : readOfEach(lanes, limit, this.#boost);
    const { claimLeaseMs: leaseMs } = config;
    const claimSeed = randomUUID();
    return { lanes, limit, workerId, claimSeed, leaseMs, rules, most };
  }
}

function claimRules({ config, plan }: ClaimDeskOptions): ClaimRules | undefined {
  const isFree =
    plan.queueCaps.size === 0 && config.clusterWideCap === null && plan.maxClaimBatch === 0;
  if (isFree) return undefined;
  return {
    queueCaps: plan.queueCaps,
    clusterWideCap: config.clusterWideCap,
    maxClaimBatch: plan.maxClaimBatch,
    isSoft: config.prefetchBuffer > 0,
    unknownNames: null,
  };
}
