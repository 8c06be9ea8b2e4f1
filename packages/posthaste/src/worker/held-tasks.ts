/** What a worker holds: bodies that run, tasks fetched ahead, and ends that are not written yet. */
import type { RunEndEvent } from "../define/hooks.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import type { HeldClaim } from "../store/queries/hold-claims.ts";
import type { SettledTask } from "../store/queries/settle-tasks.ts";
import { ClaimSeeds } from "./claim-seeds.ts";
import { EndList, firstOfEach } from "./settlement/end-list.ts";
import { SlotLedger } from "./slots/slot-ledger.ts";
import type { TaskRun } from "./task-run.ts";

/** Ends written in one statement at most: enough to be cheap, few enough to keep a statement short. */
const MOST_ENDS = 2_000;
/** Of nodes, whose statement does more. */
const MOST_NODE_ENDS = 1_000;
/** With so many unwritten ends nothing more is claimed, whatever the crash rules of their tasks. */
const MOST_UNWRITTEN = 5_000;

/** How long an aborted body has to notice before its task is given back. */
export const ABORT_GRACE_MS = 1_000;

/** An end that is to be written, and where its task came from. */
export interface EndedTask extends SettledTask {
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  /** A node of a run: written in another lane. */
  readonly isNode?: true;
  /** Its task must not run again after a crash: until the end is sent, its slot is not free. */
  readonly occupiesSlot?: boolean;
  /** It was told to stop, and this is its worker's rule for it. */
  readonly isInterrupted?: true;
  /** What hooks are told of the run, where anybody listens. */
  readonly event?: RunEndEvent;
}

/** What every end of a claim says. One shape for plain tasks, of which there are many. */
export function endOf({
  id,
  claimId,
  name,
  queue,
  priority,
  node,
}: ClaimedTask): Pick<EndedTask, "id" | "claimId" | "name" | "queue" | "priority" | "isNode"> {
  const end = { id, claimId, name, queue, priority };
  return node === undefined ? end : { ...end, isNode: true };
}

/** A claim's id is half its task's, whose own may be anybody's: it takes both to tell claims apart for certain. */
export function claimKey({ id, claimId }: HeldClaim): string {
  return `${id}/${claimId}`;
}

function claimOf({ id, claimId }: HeldClaim): HeldClaim {
  return { id, claimId };
}

export class HeldTasks {
  /** Ends that the completer for plain tasks writes, and the completer for nodes. */
  readonly plainEnds = new EndList<EndedTask>(MOST_ENDS);
  readonly nodeEnds = new EndList<EndedTask>(MOST_NODE_ENDS);
  readonly slots = new SlotLedger(() => this.plainEnds.occupiedSlots + this.nodeEnds.occupiedSlots);
  readonly seeds = new ClaimSeeds();
  #ahead: ClaimedTask[] = [];
  readonly #heldBack = new Set<ClaimedTask>();
  /** Runs that were told to stop, and have: see interrupted-runs.ts. */
  #interrupted: EndedTask[] = [];
  readonly #noneRuns = new AbortController();
  #isShuttingDown = false;

  get aheadCount(): number {
    return this.#ahead.length;
  }

  get running(): Set<TaskRun> {
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

  /** Whether an earlier attempt of this task has ended and is not written: no new one starts before hooks have heard of it. */
  isReturning({ id }: ClaimedTask): boolean {
    return this.plainEnds.isReturning(id) || this.nodeEnds.isReturning(id);
  }

  /** Ends that PostgreSQL has refused. They are written again in `retryInMs`, or never if that is Infinity. */
  get refusedCount(): number {
    return this.plainEnds.refusedCount + this.nodeEnds.refusedCount;
  }

  retryInMs(now: number): number {
    return Math.min(this.plainEnds.retryInMs(now), this.nodeEnds.retryInMs(now));
  }

  get isEmpty(): boolean {
    return (
      this.busyCount === 0 &&
      !this.seeds.isAnyUnderWay &&
      this.#ahead.length === 0 &&
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

  /** False: it was let go of before. */
  letGo(run: TaskRun): boolean {
    const wasHeld = this.running.delete(run);
    if (this.#isShuttingDown && this.running.size === 0) this.#noneRuns.abort();
    return wasHeld;
  }

  /** From now on what is interrupted waits for the end of the shutdown. Aborts when nothing runs any more. */
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

  /** They are not this worker's any more. */
  givenBack(claims: readonly HeldClaim[]): void {
    const gone = new Set<HeldClaim>(claims);
    this.#interrupted = this.#interrupted.filter((ended) => !gone.has(ended));
  }

  /** Nobody could decide: they end by rule. */
  endInterrupted(): void {
    for (const ended of this.#interrupted.splice(0)) this.#listOf(ended).add(ended);
  }

  written(settles: readonly SettledTask[]): void {
    this.plainEnds.written(settles);
    if (this.nodeEnds.length > 0) this.nodeEnds.written(settles);
  }

  retryRefused(): void {
    this.plainEnds.retryNow();
    this.nodeEnds.retryNow();
  }

  fetchedAhead(tasks: readonly ClaimedTask[]): void {
    this.#ahead.push(...tasks);
  }

  /** What gets the next slots, each task once: one that was lost and fetched again is here under two claims. */
  nextAhead(count: number): readonly ClaimedTask[] {
    return firstOfEach(
      this.#ahead.filter((task) => this.#mayStart(task)),
      count,
    );
  }

  /** Takes the first of the line, if it is stored as running and only has to begin. What waits for a cap is passed over. */
  takeStarted(): ClaimedTask | undefined {
    const at = this.#ahead.findIndex((task) => this.#mayStart(task));
    if (this.#ahead[at]?.isStarted !== true) return undefined;
    return at === 0 ? this.#ahead.shift() : this.#ahead.splice(at, 1)[0]; // of thousands, only the former moves none
  }

  #mayStart(task: ClaimedTask): boolean {
    return !this.#heldBack.has(task) && !this.isReturning(task);
  }

  /** These could not be started, because a cap is reached. */
  holdBack(tasks: readonly ClaimedTask[]): void {
    for (const task of tasks) this.#heldBack.add(task);
  }

  /** There may be room now: the next slots are theirs again. */
  tryHeldBack(): void {
    this.#heldBack.clear();
  }

  /** Of those that are stored as running and have not begun: what is not this worker's any more is forgotten. */
  forgetAhead(isLost: (task: ClaimedTask) => boolean): readonly ClaimedTask[] {
    const lost = this.#ahead.filter((task) => task.isStarted === true && isLost(task));
    if (lost.length > 0) this.takeAhead(lost);
    return lost;
  }

  /** Those of them that were not given back meanwhile. */
  stillAhead(tasks: readonly ClaimedTask[]): readonly ClaimedTask[] {
    const ahead = new Set(this.#ahead);
    return tasks.filter((task) => ahead.has(task));
  }

  takeAhead(tasks: readonly ClaimedTask[]): void {
    const taken = new Set(tasks);
    this.#ahead = this.#ahead.filter((task) => !taken.has(task));
  }

  /** The keys of all claims this worker believes to hold. */
  claimKeys(): Set<string> {
    return new Set([
      ...[...this.running].map(({ claimed }) => claimKey(claimed)),
      ...this.#ahead.map(claimKey),
      ...this.unwritten.map(claimKey),
    ]);
  }

  /** Gives back what was fetched ahead and not started: all of it, or what `isMeant`. */
  releaseAhead(isMeant: (task: ClaimedTask) => boolean = () => true): void {
    const given = this.#ahead.filter(isMeant);
    this.takeAhead(given);
    for (const task of given) this.end({ ...endOf(task), edge: "release", ran: false });
  }

  /** Of nodes that were claimed too late: they end without having run. */
  expire(late: readonly ClaimedTask[]): void {
    for (const task of late) this.end({ ...endOf(task), edge: "expire", ran: false });
  }

  /** Claims of tasks that have not ended, by what a heartbeat for them is called: those stored as running, those that wait. */
  claims(): { readonly running: HeldClaim[]; readonly ahead: HeldClaim[] } {
    const runs = [...this.running].map(({ claimed }) => claimed);
    const started = this.#ahead.filter(({ isStarted }) => isStarted === true);
    return {
      running: [...runs, ...started, ...this.unwritten].map(claimOf),
      ahead: this.#ahead.filter(({ isStarted }) => isStarted !== true).map(claimOf),
    };
  }

  /** Gives back what does not stop: its claim is fenced off, whatever it still does. */
  abandon(runs: Iterable<TaskRun>): void {
    for (const run of runs) if (this.letGo(run)) this.end(run.abandon());
  }
}
