/**
 * The entry of claiming. In: hints from notifications, replies of earlier claims, the number of free slots. Out: claim requests, or
 * none if no task is expected. The poll schedule decides when to ask, the lane cursors where, the budget how much.
 */
import { randomUUID } from "node:crypto";
import type { Config } from "../../config/config.ts";
import type { WorkerSettings } from "../../config/worker-options.ts";
import type { WakeHint } from "../../domain/wake-hint.ts";
import type { Connection } from "../../store/connection.ts";
import type { ClaimLane, ClaimReply, ClaimRequest } from "../../store/queries/claim/claim-tasks.ts";
import { noRules, readOfEach, type ClaimRules } from "../../store/queries/claim/pick-ready.ts";
import type { Store } from "../../store/store.ts";
import type { InFlightTasks } from "../slots/in-flight.ts";
import type { ClaimRound } from "./claim-transaction.ts";
import { LaneCursors, hasTies } from "./lane-cursors.ts";
import { PollSchedule } from "./poll-schedule.ts";

export interface ClaimRequesterOptions {
  readonly store: Store;
  readonly config: Config;
  readonly settings: WorkerSettings;
  readonly workerId: string;
  /** Names that this worker has met and has no handler for: it claims no more tasks of them. */
  readonly unknownNames: () => readonly string[];
}

export type ClaimRequests = Pick<ClaimRound, "claim" | "prefetch">;

const MOST_BOOST = 64;
const nothing: ClaimRequests = { claim: undefined, prefetch: undefined };

export class ClaimRequester {
  readonly #options: ClaimRequesterOptions;
  readonly #lanes: LaneCursors;
  readonly #schedule: PollSchedule;
  /** Grows while claims over many queues come back short, because most of the work is in a few of them. */
  #boost = 1;
  /** All tasks prefetched last were stored as RUNNING: then one claim serves the slots and the buffer. */
  #claimsAsRunning = false;
  /** The rules of the configuration; undefined: none. */
  readonly #configured: ClaimRules | undefined;

  constructor(options: ClaimRequesterOptions) {
    const { config, settings } = options;
    this.#options = options;
    this.#lanes = new LaneCursors(settings.queueRanks);
    this.#schedule = new PollSchedule(config.resilience.notifyPollIntervalMs);
    this.#configured = claimRules(options);
  }

  /** The rules of a claim; undefined: only the order. */
  get rules(): ClaimRules | undefined {
    return this.#exceptUnknown(this.#configured);
  }

  /** A task was sent to this queue, or returned to it. */
  hint(queue: string, hint: WakeHint): void {
    const now = performance.now();
    this.#lanes.hint(queue, hint, now);
    this.#schedule.wake(hint.due, now);
  }

  /** Tasks may have been sent to any queue. */
  look(): void {
    this.#schedule.lookAround();
  }

  /** Counts the events that announced tasks. */
  get wakes(): number {
    return this.#schedule.wakes;
  }

  /** No due task is known. */
  isCaughtUp(now: number): boolean {
    return !this.#schedule.shouldPoll(now) && !this.#schedule.isHeldBack;
  }

  /** Whether no cap and no batch limit applies to this queue. */
  takesFreely(queue: string): boolean {
    const { settings, config } = this.#options;
    const isLimited = config.clusterWideCap !== null || settings.maxClaimBatch > 0;
    return settings.queueRanks.has(queue) && !settings.queueCaps.has(queue) && !isLimited;
  }

  /** Lanes that may have tasks, and the lanes of these tasks. */
  lanesWith(tasks: readonly { queue: string; priority: number }[]): ClaimLane[] {
    const lanes = this.#lanes.list(true);
    for (const { queue, priority } of tasks) {
      if (!lanes.some((lane) => lane.queue === queue && lane.priority === priority))
        lanes.push({ queue, priority, mark: -Infinity });
    }
    return lanes;
  }

  /** A request for a chained claim, over lanes without rules. */
  requestBeside(limit: number): ClaimRequest | undefined {
    const { workerId, config } = this.#options;
    const lanes = this.#lanes.list(true).filter(({ queue }) => this.takesFreely(queue));
    if (lanes.length === 0) return undefined;
    const rules = this.#exceptUnknown(hasTies(lanes) ? noRules : undefined);
    return { lanes, limit, workerId, leaseMs: config.claimLeaseMs, rules };
  }

  /** The reply to a chained claim. It has not seen all lanes: it can announce tasks, not rule them out. */
  onChainedReply({ tasks, isFull, nextDueMs }: ClaimReply): void {
    const now = performance.now();
    this.#lanes.advance(tasks, now);
    if (isFull) this.#schedule.wake(0, now);
    else if (nextDueMs !== null) this.#schedule.wake(nextDueMs, now);
  }

  /** How many tasks may start now. */
  freeSlots(inFlight: Pick<InFlightTasks, "busyCount" | "prefetchedCount">): number {
    const { settings, config } = this.#options;
    const load = { running: inFlight.busyCount, prefetched: inFlight.prefetchedCount };
    return claimBudget(settings, config, load).toStart;
  }

  isSurveyDue(now: number): boolean {
    return this.#schedule.isSurveyDue(now);
  }

  restMs(now: number): number {
    return this.#schedule.restMs(now);
  }

  /** Whether prefetched tasks may start: not while they wait for room under a cap. */
  mayStart(now: number): boolean {
    return !this.#schedule.isHeldBack || this.#schedule.isCapCheckDue(now);
  }

  /** Ends were written: there may be room under a cap. */
  madeRoom(): void {
    this.#schedule.madeRoom();
  }

  /** The requests to send now. */
  requests(now: number, load: ClaimLoad): ClaimRequests {
    if (!this.#schedule.shouldPoll(now)) return nothing;
    if (this.#lanes.isEmpty) {
      this.#schedule.loseTrack();
      return nothing;
    }
    const { settings, config } = this.#options;
    const { toStart: free, toPrefetch: buffered } = claimBudget(settings, config, load);
    if (this.#claimsAsRunning && buffered > 0) {
      // Half of the most tasks: the handlers of one half run while the other half is fetched.
      const half = Math.ceil((settings.concurrency + config.prefetchBuffer) / 2);
      const limit = Math.min(free + buffered, half);
      return { claim: undefined, prefetch: this.#requestPrefetch(limit, now) };
    }
    return {
      claim: free > 0 ? this.#request(free, now) : undefined,
      prefetch: buffered > 0 ? this.#requestPrefetch(buffered, now) : undefined,
    };
  }

  onReply(
    request: ClaimRequest | undefined,
    reply: ClaimReply | undefined,
    wakesBefore: number,
  ): void {
    if (request === undefined || reply === undefined) return;
    const now = performance.now();
    this.#lanes.advance(reply.tasks, now);
    if (request.startsAhead === true && reply.tasks.length > 0)
      this.#claimsAsRunning = reply.tasks.every(({ isStoredRunning }) => isStoredRunning === true);
    const isShort = reply.tasks.length + reply.expired.length < request.limit;
    const isUneven = reply.isFull && isShort;
    this.#boost = isUneven ? Math.min(MOST_BOOST, this.#boost * 2) : Math.max(1, this.#boost / 2);
    const { isFull, isHeldBack, nextDueMs } = reply;
    this.#schedule.onReply({ isFull, isHeldBack, nextDueMs, wakesBefore }, now);
  }

  /** A start found a cap reached. */
  heldBack(): void {
    this.#schedule.holdBack(performance.now());
  }

  async survey(connection: Connection): Promise<void> {
    const { store, settings } = this.#options;
    const startedAt = performance.now();
    const wakesBefore = this.#schedule.wakes;
    const found = await store.surveyLanes(connection, settings.queues);
    const now = performance.now();
    this.#lanes.correct(found, startedAt);
    const firstDueMs = Math.min(...found.map(({ dueMs }) => dueMs), Infinity);
    this.#schedule.surveyed({ tookMs: now - startedAt, firstDueMs, wakesBefore }, now);
  }

  /** A worker that has met no unknown name pays nothing for this: its statements name none. */
  #exceptUnknown(rules: ClaimRules | undefined): ClaimRules | undefined {
    const unknownNames = this.#options.unknownNames();
    return unknownNames.length === 0 ? rules : { ...(rules ?? noRules), unknownNames };
  }

  #requestPrefetch(limit: number, now: number): ClaimRequest {
    return { ...this.#request(limit, now), startsAhead: this.#options.config.startAhead };
  }

  #request(limit: number, now: number): ClaimRequest {
    const { workerId, config } = this.#options;
    const lanes = this.#lanes.list(this.#lanes.looksBack(this.#schedule.isBacklogged, now));
    const rules = this.rules ?? (this.#lanes.hasTies ? noRules : undefined);
    const most = rules === undefined ? undefined : readOfEach(lanes, limit, this.#boost);
    const { claimLeaseMs: leaseMs } = config;
    const claimSeed = randomUUID();
    return { lanes, limit, workerId, claimSeed, leaseMs, rules, most };
  }
}

function claimRules({ config, settings }: ClaimRequesterOptions): ClaimRules | undefined {
  const isFree =
    settings.queueCaps.size === 0 && config.clusterWideCap === null && settings.maxClaimBatch === 0;
  if (isFree) return undefined;
  return {
    queueCaps: settings.queueCaps,
    clusterWideCap: config.clusterWideCap,
    maxClaimBatch: settings.maxClaimBatch,
    isSoft: config.prefetchBuffer > 0,
    unknownNames: null,
  };
}

/** The tasks of a worker: running or about to start, and waiting for a slot. */
export interface ClaimLoad {
  readonly running: number;
  readonly prefetched: number;
}

/**
 * How many tasks a worker may claim now: to start at once, and to prefetch. It never runs more than `concurrency`, never has more
 * than `concurrency` and `prefetchBuffer` together, and never more than `maxClaimPerWorker` that are claimed and not running.
 */
export function claimBudget(
  { concurrency, maxClaimPerWorker }: Pick<WorkerSettings, "concurrency" | "maxClaimPerWorker">,
  { prefetchBuffer }: Pick<Config, "prefetchBuffer">,
  { running, prefetched }: ClaimLoad,
): { readonly toStart: number; readonly toPrefetch: number } {
  const mayClaim = Math.max(0, maxClaimPerWorker - prefetched);
  const local = Math.max(0, concurrency + prefetchBuffer - running - prefetched);
  const total = Math.min(mayClaim, local);
  const toStart = Math.min(total, Math.max(0, concurrency - running));
  return { toStart, toPrefetch: total - toStart };
}
