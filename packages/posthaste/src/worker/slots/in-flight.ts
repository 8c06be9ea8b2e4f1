/** The tasks that a worker has claimed and not yet ended in the database: running, prefetched, or ended and unwritten. */
import { seedOf } from "../../store/queries/claim/claim-rows.ts";
import type { ClaimedTask } from "../../store/queries/claim/claim-tasks.ts";
import { claimKey, type Claim } from "../../store/queries/claim/stored-claims.ts";
import type { TaskEnd } from "../../store/queries/settle/settle-tasks.ts";
import type { Attempt } from "../execution/attempt.ts";
import { endOf, type EndedTask } from "../execution/ended-task.ts";
import { EndList, firstOfEach } from "./end-list.ts";
import { SlotLedger } from "./slot-ledger.ts";

/** Ends written in one statement at most: enough to be cheap, few enough to keep a statement short. */
const MOST_ENDS = 2_000;
/** The same for nodes, whose statement does more. */
const MOST_NODE_ENDS = 1_000;
/** With this many unwritten ends the worker claims no task, whatever the crash rules. */
const MOST_UNWRITTEN = 5_000;

/** How long an aborted handler has to end before its task is released. */
export const ABORT_GRACE_MS = 1_000;

function claimOf({ id, claimId }: Claim): Claim {
  return { id, claimId };
}

/**
 * Claims that may be stored for this worker although it does not know them: those of a direct start or chained claim under way, and
 * of a request whose answer was lost. The loop's own claim is not listed, because the loop does not reconcile while it is under
 * way. Every request has its own seed, which the ids of its claims contain.
 */
class ClaimSeeds {
  readonly #underWay = new Set<string>();
  readonly #unanswered = new Set<string>();

  asked(seed: string): void {
    this.#underWay.add(seedOf(seed));
  }

  answered(seed: string): void {
    this.#underWay.delete(seedOf(seed));
  }

  /** It may commit at any later time, or never: a statement outlives the connection that sent it. */
  unanswered(seed: string): void {
    this.answered(seed);
    this.#unanswered.add(seedOf(seed));
  }

  get isAnyUnderWay(): boolean {
    return this.#underWay.size > 0;
  }

  isUnderWay({ claimId }: Claim): boolean {
    return this.#underWay.has(seedOf(claimId));
  }

  isUnanswered({ claimId }: Claim): boolean {
    return this.#unanswered.has(seedOf(claimId));
  }

  /** One transaction stores all claims of a request, so the first that are found answer it. */
  found(claims: readonly Claim[]): void {
    for (const { claimId } of claims) this.#unanswered.delete(seedOf(claimId));
  }
}

export class InFlightTasks {
  /** Ends that the completer for plain tasks writes, and the completer for nodes. */
  readonly plainEnds = new EndList<EndedTask>(MOST_ENDS);
  readonly nodeEnds = new EndList<EndedTask>(MOST_NODE_ENDS);
  readonly slots = new SlotLedger(() => this.plainEnds.occupiedSlots + this.nodeEnds.occupiedSlots);
  readonly seeds = new ClaimSeeds();
  #prefetched: ClaimedTask[] = [];
  readonly #heldBack = new Set<ClaimedTask>();
  /** Attempts that were told to stop, and have: see interrupted-attempts.ts. */
  #interrupted: EndedTask[] = [];
  readonly #noneRuns = new AbortController();
  #isShuttingDown = false;

  get prefetchedCount(): number {
    return this.#prefetched.length;
  }

  get running(): Set<Attempt> {
    return this.slots.running;
  }

  /** Slots that are not free. */
  get busyCount(): number {
    return this.slots.occupied;
  }

  /** Whether the worker must write ends before it may claim more tasks. */
  get isBehind(): boolean {
    return this.plainEnds.length + this.nodeEnds.length >= MOST_UNWRITTEN;
  }

  /** Whether an earlier attempt of this task has an unwritten end: the next one starts after hooks were called for it. */
  isReturning({ id }: ClaimedTask): boolean {
    return this.plainEnds.isReturning(id) || this.nodeEnds.isReturning(id);
  }

  /** Ends that PostgreSQL has refused. They are written again in `rewriteInMs`, or never if that is Infinity. */
  get refusedCount(): number {
    return this.plainEnds.refusedCount + this.nodeEnds.refusedCount;
  }

  rewriteInMs(now: number): number {
    return Math.min(this.plainEnds.rewriteInMs(now), this.nodeEnds.rewriteInMs(now));
  }

  get isEmpty(): boolean {
    return (
      this.busyCount === 0 &&
      !this.seeds.isAnyUnderWay &&
      this.#prefetched.length === 0 &&
      this.plainEnds.length === 0 &&
      this.nodeEnds.length === 0 &&
      this.#interrupted.length === 0
    );
  }

  /** Ends that are not written, of all kinds. */
  get unwritten(): readonly EndedTask[] {
    return [...this.plainEnds, ...this.nodeEnds, ...this.#interrupted];
  }

  end(ended: EndedTask): void {
    if (ended.isInterrupted === true) this.#interrupted.push(ended);
    else this.#listOf(ended).add(ended);
  }

  #listOf({ isNode }: EndedTask): EndList<EndedTask> {
    return isNode === true ? this.nodeEnds : this.plainEnds;
  }

  /** False: it was removed before. */
  remove(attempt: Attempt): boolean {
    const wasHeld = this.running.delete(attempt);
    if (this.#isShuttingDown && this.running.size === 0) this.#noneRuns.abort();
    return wasHeld;
  }

  /** From now on interrupted attempts wait for the end of the shutdown. The signal aborts when no attempt runs. */
  shutDown(): AbortSignal {
    this.#isShuttingDown = true;
    if (this.running.size === 0) this.#noneRuns.abort();
    return this.#noneRuns.signal;
  }

  get interrupted(): readonly EndedTask[] {
    return this.#interrupted;
  }

  get isShuttingDown(): boolean {
    return this.#isShuttingDown;
  }

  /** These are no longer this worker's tasks. */
  givenBack(claims: readonly Claim[]): void {
    const gone = new Set<Claim>(claims);
    this.#interrupted = this.#interrupted.filter((ended) => !gone.has(ended));
  }

  /** No decision was possible in time: they end by their crash rule. */
  endInterrupted(): void {
    for (const ended of this.#interrupted.splice(0)) this.#listOf(ended).add(ended);
  }

  written(settles: readonly TaskEnd[]): void {
    this.plainEnds.written(settles);
    if (this.nodeEnds.length > 0) this.nodeEnds.written(settles);
  }

  retryRefused(): void {
    this.plainEnds.retryNow();
    this.nodeEnds.retryNow();
  }

  addPrefetched(tasks: readonly ClaimedTask[]): void {
    this.#prefetched.push(...tasks);
  }

  /** Prefetched tasks that get the next slots, each task once: a task that was lost and claimed again is here under two claims. */
  nextPrefetched(count: number): readonly ClaimedTask[] {
    return firstOfEach(
      this.#prefetched.filter((task) => this.#mayStart(task)),
      count,
    );
  }

  /** Takes the first prefetched task if it is stored as RUNNING. Skips tasks that wait for a cap. */
  takeStarted(): ClaimedTask | undefined {
    const at = this.#prefetched.findIndex((task) => this.#mayStart(task));
    if (this.#prefetched[at]?.isStoredRunning !== true) return undefined;
    return at === 0 ? this.#prefetched.shift() : this.#prefetched.splice(at, 1)[0]; // shift() moves no other element, splice() moves thousands
  }

  #mayStart(task: ClaimedTask): boolean {
    return !this.#heldBack.has(task) && !this.isReturning(task);
  }

  /** These could not be started, because a cap is reached. */
  holdBack(tasks: readonly ClaimedTask[]): void {
    for (const task of tasks) this.#heldBack.add(task);
  }

  /** There may be room under the cap: these may start again. */
  tryHeldBack(): void {
    this.#heldBack.clear();
  }

  /** Removes prefetched tasks that are stored as RUNNING and are no longer this worker's. */
  dropPrefetched(isLost: (task: ClaimedTask) => boolean): readonly ClaimedTask[] {
    const lost = this.#prefetched.filter((task) => task.isStoredRunning === true && isLost(task));
    if (lost.length > 0) this.removePrefetched(lost);
    return lost;
  }

  /** The tasks among these that were not released meanwhile. */
  stillPrefetched(tasks: readonly ClaimedTask[]): readonly ClaimedTask[] {
    const waiting = new Set(this.#prefetched);
    return tasks.filter((task) => waiting.has(task));
  }

  removePrefetched(tasks: readonly ClaimedTask[]): void {
    const taken = new Set(tasks);
    this.#prefetched = this.#prefetched.filter((task) => !taken.has(task));
  }

  /** The keys of all claims that this worker knows as its own. */
  claimKeys(): Set<string> {
    return new Set([
      ...[...this.running].map(({ claimed }) => claimKey(claimed)),
      ...this.#prefetched.map(claimKey),
      ...this.unwritten.map(claimKey),
    ]);
  }

  /** Releases prefetched tasks: all, or those that `isMeant`. */
  releasePrefetched(isMeant: (task: ClaimedTask) => boolean = () => true): void {
    const given = this.#prefetched.filter(isMeant);
    this.removePrefetched(given);
    for (const task of given) this.end({ ...endOf(task), edge: "release", ran: false });
  }

  /** Ends nodes that were claimed after their deadline. */
  expire(late: readonly ClaimedTask[]): void {
    for (const task of late) this.end({ ...endOf(task), edge: "expire", ran: false });
  }

  /** Claims that need heartbeats, by role: stored as RUNNING, or waiting for a slot. */
  claims(): { readonly running: Claim[]; readonly prefetched: Claim[] } {
    const attempts = [...this.running].map(({ claimed }) => claimed);
    const started = this.#prefetched.filter(({ isStoredRunning }) => isStoredRunning === true);
    return {
      running: [...attempts, ...started, ...this.unwritten].map(claimOf),
      prefetched: this.#prefetched
        .filter(({ isStoredRunning }) => isStoredRunning !== true)
        .map(claimOf),
    };
  }

  /** Releases attempts that do not stop. The fence rejects whatever their handlers still write. */
  abandon(attempts: Iterable<Attempt>): void {
    for (const attempt of attempts) if (this.remove(attempt)) this.end(attempt.abandon());
  }
}
