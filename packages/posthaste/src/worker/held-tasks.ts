/** What a worker holds: bodies that run, tasks fetched ahead, and ends that are not written yet. */
import type { RunEndEvent } from "../define/hooks.ts";
import type { Landed } from "../engine/wake-workers.ts";
import { isOfSeed } from "../store/queries/claim-id.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import type { HeldClaim } from "../store/queries/hold-claims.ts";
import type { SettledTask } from "../store/queries/settle-tasks.ts";
import { SlotReserve } from "./reserved-slots.ts";
import type { TaskRun } from "./task-run.ts";

/** Ends written in one statement at most: enough to be cheap, few enough to keep a statement short. */
const MOST_ENDS = 2_000;
/** Of nodes, whose statement does more. */
const MOST_NODE_ENDS = 1_000;

/** How long an aborted body has to notice before its task is given back. */
export const ABORT_GRACE_MS = 1_000;

/** An end that is to be written, and where its task came from. */
export interface EndedTask extends SettledTask {
  readonly queue: string;
  readonly priority: number;
  /** A node of a run: written in another lane. */
  readonly isNode?: true;
  /** It was told to stop, and this is its worker's rule for it. */
  readonly isInterrupted?: true;
  /** What hooks are told of the run, where anybody listens. */
  readonly event?: RunEndEvent;
}

/** What every end of a claim says. One shape for plain tasks, of which there are many. */
export function endOf({
  id,
  claimId,
  queue,
  priority,
  node,
}: ClaimedTask): Pick<EndedTask, "id" | "claimId" | "queue" | "priority" | "isNode"> {
  const end = { id, claimId, queue, priority };
  return node === undefined ? end : { ...end, isNode: true };
}

/** A claim's id is half its task's, whose own may be anybody's: it takes both to tell claims apart for certain. */
export function claimKey({ id, claimId }: HeldClaim): string {
  return `${id}/${claimId}`;
}

/** Tasks that went back into the line: their worker knows when a retry is due, the others are told of what is due now. */
export function whatCameBack(ended: readonly EndedTask[]): { own: Landed[]; others: Landed[] } {
  const own: Landed[] = [];
  const others: Landed[] = [];
  for (const { queue, priority, edge, delayMs } of ended) {
    if (edge === "retry") own.push({ queue, priority, due: delayMs ?? 0 });
    else if (edge === "release" || edge === "requeue")
      others.push({ queue, priority, due: "back" });
  }
  return { own, others };
}

function claimOf({ id, claimId }: HeldClaim): HeldClaim {
  return { id, claimId };
}

export class HeldTasks {
  /** A task that was lost and claimed again may run here twice at once. */
  readonly running = new Set<TaskRun>();
  /** Slots that are kept for tasks while they are being stored, by the keys of their claims. */
  readonly #kept = new Set<string>();
  /** And for what claims and starts will bring that are under way. */
  readonly slots = new SlotReserve();
  /** The seeds of claims that are made beside those of the loop. */
  readonly #claiming = new Set<string>();
  #ahead: ClaimedTask[] = [];
  readonly #heldBack = new Set<ClaimedTask>();
  #ended: EndedTask[] = [];
  #endedNodes: EndedTask[] = [];
  /** Runs that were told to stop, while that is put aside. */
  #interrupted: EndedTask[] = [];
  readonly #noneRuns = new AbortController();
  #putsAside = false;
  /** Claims whose end PostgreSQL refuses in every form: known, so that they are not taken for strays and run again. */
  readonly #stuck = new Set<string>();

  get aheadCount(): number {
    return this.#ahead.length;
  }

  /** Slots that are not free. */
  get busyCount(): number {
    return this.running.size + this.#kept.size + this.slots.count;
  }

  keep(tasks: Iterable<ClaimedTask>): void {
    for (const task of tasks) this.#kept.add(claimKey(task));
  }

  unkeep(tasks: Iterable<ClaimedTask>): void {
    for (const task of tasks) this.#kept.delete(claimKey(task));
  }

  /** Until `claimed`, what is stored under that seed is no stray. */
  claiming(seed: string): void {
    this.#claiming.add(seed);
  }

  claimed(seed: string): void {
    this.#claiming.delete(seed);
  }

  isBeingClaimed({ claimId }: HeldClaim): boolean {
    return [...this.#claiming].some((seed) => isOfSeed(claimId, seed));
  }

  get isEmpty(): boolean {
    return (
      this.busyCount === 0 &&
      this.#claiming.size === 0 &&
      this.#ahead.length === 0 &&
      this.#ended.length === 0 &&
      this.#endedNodes.length === 0 &&
      this.#interrupted.length === 0
    );
  }

  /** Ends of plain tasks that are not written yet. */
  get endCount(): number {
    return this.#ended.length;
  }

  get hasNodeEnds(): boolean {
    return this.#endedNodes.length > 0;
  }

  end(ended: EndedTask): void {
    if (this.#putsAside && ended.isInterrupted === true) this.#interrupted.push(ended);
    else this.#listOf(ended).push(ended);
  }

  #listOf({ isNode }: EndedTask): EndedTask[] {
    return isNode === true ? this.#endedNodes : this.#ended;
  }

  /** False: it was let go of before. */
  letGo(run: TaskRun): boolean {
    const wasHeld = this.running.delete(run);
    if (this.#putsAside && this.running.size === 0) this.#noneRuns.abort();
    return wasHeld;
  }

  /** From now on what is interrupted waits for `givenBack` or `endInterrupted`. Aborts when nothing runs any more. */
  putInterruptedAside(): AbortSignal {
    this.#putsAside = true;
    if (this.running.size === 0) this.#noneRuns.abort();
    return this.#noneRuns.signal;
  }

  get interrupted(): readonly EndedTask[] {
    return this.#interrupted;
  }

  /** They are not this worker's any more. */
  givenBack(): void {
    this.#interrupted = [];
  }

  /** Nobody could decide: they end by rule. */
  endInterrupted(): void {
    for (const ended of this.#interrupted.splice(0)) this.#listOf(ended).push(ended);
  }

  /**
   * Ends to write next, each task once: a statement knows one claim of it. They stay until `written`: a write whose fate
   * is unknown is repeated.
   */
  nextEnds(): readonly EndedTask[] {
    return firstOfEach(this.#ended, MOST_ENDS);
  }

  /** The same of nodes. */
  nextNodeEnds(): readonly EndedTask[] {
    return firstOfEach(this.#endedNodes, MOST_NODE_ENDS);
  }

  written(settles: readonly SettledTask[]): void {
    const gone = new Set<SettledTask>(settles);
    this.#ended = this.#ended.filter((ended) => !gone.has(ended));
    if (this.hasNodeEnds) this.#endedNodes = this.#endedNodes.filter((ended) => !gone.has(ended));
  }

  /** Gives up on writing this end; the task stays RUNNING until it is recovered. */
  giveUpOn(settled: SettledTask): void {
    this.#stuck.add(claimKey(settled));
    this.written([settled]);
  }

  fetchedAhead(tasks: readonly ClaimedTask[]): void {
    this.#ahead.push(...tasks);
  }

  /** What gets the next slots, each task once: one that was lost and fetched again is here under two claims. */
  nextAhead(count: number): readonly ClaimedTask[] {
    return firstOfEach(
      this.#ahead.filter((task) => !this.#heldBack.has(task)),
      count,
    );
  }

  /** Takes the first of the line, if it is stored as running and only has to begin. What waits for a cap is passed over. */
  takeStarted(): ClaimedTask | undefined {
    const at = this.#ahead.findIndex((task) => !this.#heldBack.has(task));
    if (this.#ahead[at]?.isStarted !== true) return undefined;
    return at === 0 ? this.#ahead.shift() : this.#ahead.splice(at, 1)[0]; // of thousands, only the former moves none
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
      ...this.#ended.map(claimKey),
      ...this.#endedNodes.map(claimKey),
      ...this.#interrupted.map(claimKey),
      ...this.#kept,
      ...this.#stuck,
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
    return {
      running: [
        ...[...this.running].map(({ claimed }) => claimed),
        ...this.#ahead.filter(({ isStarted }) => isStarted === true),
        ...this.#ended,
        ...this.#endedNodes,
        ...this.#interrupted,
      ].map(claimOf),
      ahead: this.#ahead.filter(({ isStarted }) => isStarted !== true).map(claimOf),
    };
  }

  /** Gives back what does not stop: its claim is fenced off, whatever it still does. */
  abandon(runs: Iterable<TaskRun>): void {
    for (const run of runs) if (this.letGo(run)) this.end(run.abandon());
  }
}

/** Each task once. */
function firstOfEach<Task extends { readonly id: string }>(tasks: readonly Task[], most: number) {
  const next = new Map<string, Task>();
  for (const task of tasks) {
    if (next.size >= most) break;
    if (!next.has(task.id)) next.set(task.id, task);
  }
  return [...next.values()];
}
