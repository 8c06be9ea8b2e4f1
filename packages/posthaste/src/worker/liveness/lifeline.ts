/**
 * What the liveness thread does for one worker: holds the lock that shows its process lives, beats its row, vouches for its
 * claims, and looks after the other workers if it is the one that does. Nothing that goes wrong ends it: a session that is
 * lost or does not answer is replaced.
 */
import { mayPass } from "../../engine/repeat-safely.ts";
import { Backoff } from "../../runtime/backoff.ts";
import { Bell } from "../../runtime/bell.ts";
import { pause } from "../../runtime/pause.ts";
import type { Connection } from "../../store/connection.ts";
import { openSession } from "../../store/open-session.ts";
import type { HeldClaim } from "../../store/queries/hold-claims.ts";
import type { Role } from "../../store/queries/vouch.ts";
import { createStore, type Store } from "../../store/store.ts";
import { BlockedWorker } from "./blocked-worker.ts";
import { DeathWatch } from "./death-watch.ts";
import type { LoopWatch } from "./loop-watch.ts";
import type { FromLiveness, WatchedWorker } from "./messages.ts";
import { Snapshots } from "./snapshots.ts";
import { Vouching } from "./vouching.ts";

/** A session that has not answered for this long is given up: another may get through. */
const ANSWER_MS = 5_000;
/** Whoever cannot act for this long must not keep others from acting. */
const LEADER_BLOCKED_MS = 2_000;
/** After a session began, everybody else may be reconnecting too: nobody is called dead before they had the time. */
const SETTLE_MS = 5_000;
const LEAST_LOOK_MS = 250;
const MOST_LOOK_MS = 1_650;
/** Of the stale threshold: from then on others may take the tasks at any moment. */
const FENCE_AT = 0.9;
/** A round that comes this much late is nothing yet. */
const HICCUP_MS = 500;

type Say = FromLiveness extends infer Message
  ? Message extends { workerId: string }
    ? Omit<Message, "workerId">
    : never
  : never;

export interface LifelineOptions {
  readonly worker: WatchedWorker;
  readonly loop: LoopWatch;
  readonly heapBytes: () => number;
  readonly say: (message: FromLiveness) => void;
}

export class Lifeline {
  readonly worker: WatchedWorker;
  readonly blocked: BlockedWorker;
  readonly #options: LifelineOptions;
  readonly #store: Store;
  readonly #bell = new Bell();
  readonly #stop = new AbortController();
  readonly #roles: Readonly<Record<Role, Vouching>>;
  readonly #snapshots: Snapshots;
  readonly #lookEveryMs: number;
  readonly #done: Promise<void>;
  #session: Connection | undefined;
  #key: number | null = null;
  #isRegistered = false;
  #isFenced = false;
  #isTroubled = false;
  /** Whether it looks after the others: it holds the lock for that, or steps in for somebody who does and is silent. */
  #leads = false;
  #holdsLead = false;
  #hasOthers = false;
  #deaths: DeathWatch;
  #beatAt = 0;
  #lookAt = 0;
  /** When everything that was due had last been written. */
  #heardAt = performance.now();
  #saidHeardAt = -Infinity;

  constructor(options: LifelineOptions) {
    const { worker } = options;
    this.#options = options;
    this.worker = worker;
    this.blocked = new BlockedWorker(worker, options.loop);
    this.#store = createStore(worker.schema);
    this.#roles = {
      runner: new Vouching(worker.runnerHeartbeatIntervalMs),
      claimer: new Vouching(worker.claimerHeartbeatIntervalMs),
    };
    this.#snapshots = new Snapshots(worker, options.heapBytes, options.loop);
    this.#lookEveryMs = Math.min(MOST_LOOK_MS, Math.max(LEAST_LOOK_MS, worker.crashGraceMs / 3));
    this.#deaths = this.#newDeathWatch();
    this.#done = this.#run();
  }

  registered(): void {
    this.#isRegistered = true;
    this.#bell.ring();
  }

  get isRegistered(): boolean {
    return this.#isRegistered;
  }

  /** A last heartbeat before the process is ended, so that recoveries can say why. Never rejects. */
  async storeBlocked(): Promise<void> {
    if (this.#session === undefined) return;
    await this.#beat(this.#session, this.#key).catch(() => undefined); // the database is away: the process ends all the same
  }

  hold(running: readonly HeldClaim[], ahead: readonly HeldClaim[]): void {
    const now = performance.now();
    this.#roles.runner.hold(running, now);
    this.#roles.claimer.hold(ahead, now);
    this.#bell.ring();
  }

  /** Called a few times a second, whatever the database does. */
  tick(): void {
    const { worker } = this.#options;
    const now = performance.now();
    const silentMs = this.#roles.runner.oldestSignMs(now);
    const isCutOff = now - this.#heardAt > worker.beatMs + HICCUP_MS;
    if (this.blocked.needsTasks) this.#bell.ring();
    const isSilent = isCutOff && silentMs > worker.runningStaleThresholdMs * FENCE_AT;
    if (isSilent && !this.#isFenced) {
      this.#isFenced = true;
      this.#say({ kind: "fenced", silentMs });
    }
  }

  async leave(): Promise<void> {
    this.#stop.abort();
    this.#bell.ring();
    await this.#done;
  }

  async #run(): Promise<void> {
    const backoff = new Backoff({ initialMs: 50, maxMs: 1_000 });
    const { signal } = this.#stop;
    while (!signal.aborted) {
      let session: Connection | undefined;
      try {
        session = await this.#open();
        await this.#serve(session, () => backoff.reset());
      } catch (error) {
        this.#trouble(error);
      }
      this.#session = undefined;
      await session?.close();
      this.#holdsLead = false;
      this.#lead(false);
      await pause(backoff.next(), signal);
    }
  }

  #open(): Promise<Connection> {
    const { url, preparedStatements } = this.#options.worker;
    return openSession({
      url,
      preparedStatements,
      profile: "vouches",
      applicationName: "posthaste liveness",
    });
  }

  async #serve(session: Connection, onBeat: () => void): Promise<void> {
    const { signal } = this.#stop;
    void session.lost.then(() => this.#bell.ring());
    // Behind a pooler the session is nobody's own, and what it locks would stay locked when somebody else has it.
    const key =
      session.backendPid === null
        ? null
        : await answered(session, this.#store.liveness.takeLock(session));
    [this.#session, this.#key] = [session, key];
    const maySpeakAt = performance.now() + Math.max(SETTLE_MS, this.#options.worker.crashGraceMs);
    this.#beatAt = 0;
    this.#lookAt = 0;
    let isTimelineNoted = false;
    while (!signal.aborted && session.isOpen) {
      const now = performance.now();
      if (this.#isRegistered && !isTimelineNoted) {
        await answered(session, this.#store.liveness.noteTimeline(session));
        isTimelineNoted = true;
      }
      if (this.#isRegistered && now >= this.#beatAt) {
        await this.#beat(session, key);
        onBeat();
      }
      if (signal.aborted) return;
      await this.#vouch(session, "runner");
      await this.#vouch(session, "claimer");
      if (this.#isRegistered) this.#heard();
      if (this.blocked.needsTasks) await this.#readTasks(session);
      if (this.#isLooking && key !== null && now >= this.#lookAt)
        await this.#look(session, maySpeakAt);
      if (this.#isRegistered && this.#snapshots.isDue(now)) await this.#snapshot(session);
      await this.#bell.wait(this.#restMs());
    }
    if (!signal.aborted) throw await session.lost;
  }

  #restMs(): number {
    const now = performance.now();
    const waits = [
      this.#isRegistered ? this.#beatAt - now : Infinity,
      this.#roles.runner.dueIn(now),
      this.#roles.claimer.dueIn(now),
      this.#isLooking ? this.#lookAt - now : Infinity,
    ];
    return Math.max(1, Math.min(...waits));
  }

  get #isLooking(): boolean {
    return this.#leads && this.#hasOthers;
  }

  async #beat(session: Connection, key: number | null): Promise<void> {
    const { worker, loop } = this.#options;
    const { workerId, beatMs } = worker;
    const loopBlockedMs = loop.blockedMs;
    const mayLead = loopBlockedMs < LEADER_BLOCKED_MS && key !== null;
    if (this.#holdsLead && !mayLead) {
      await answered(session, this.#store.liveness.stepDown(session));
      this.#holdsLead = false;
    }
    const leading = this.#holdsLead ? "leads" : mayLead ? "wants to" : "no";
    const beat = { workerId, key, loopBlockedMs, leading } as const;
    const reply = await answered(session, this.#store.liveness.beat(session, beat));
    this.#beatAt = performance.now() + beatMs * (0.95 + 0.1 * Math.random());
    if (reply.state === null) {
      this.#say({ kind: "dead" });
      this.#stop.abort();
      return;
    }
    this.#isTroubled = false;
    this.#hasOthers = reply.hasOthers;
    this.#holdsLead = reply.leads;
    // Without a session of one's own nobody can be the only one; everything that leaders do is right with many of them.
    this.#lead(reply.leads || reply.stepsIn || key === null);
    if (reply.deadlineMs !== null) this.#say({ kind: "deadline", inMs: reply.deadlineMs });
  }

  async #vouch(session: Connection, role: Role): Promise<void> {
    if (!this.#isRegistered) return;
    const vouching = this.#roles[role];
    const due = vouching.due(performance.now());
    if (due.length === 0) return;
    const { worker, loop } = this.#options;
    const heartbeat = {
      role,
      sender: worker,
      leaseMs: worker.claimLeaseMs,
      loopBlockedMs: loop.blockedMs,
    };
    const ids = await answered(session, this.#store.vouch(session, heartbeat, due));
    vouching.vouched(due, ids, performance.now());
  }

  async #readTasks(session: Connection): Promise<void> {
    const { workerId, resilientFlags } = this.worker;
    const reading = this.#store.holdClaims.running(session, workerId, resilientFlags);
    this.blocked.runs(await answered(session, reading));
  }

  #heard(): void {
    const now = performance.now();
    this.#heardAt = now;
    if (now - this.#saidHeardAt >= this.worker.beatMs / 2) {
      this.#saidHeardAt = now;
      this.#say({ kind: "heard" });
    }
    if (!this.#isFenced) return;
    this.#isFenced = false;
    this.#say({ kind: "unfenced" });
  }

  async #look(session: Connection, maySpeakAt: number): Promise<void> {
    const { workerId, crashGraceMs } = this.#options.worker;
    const look = await answered(session, this.#store.liveness.look(session, workerId));
    const now = performance.now();
    const gone = this.#deaths.look(look, now);
    this.#lookAt = now + this.#deaths.nextLookMs(this.#lookEveryMs, now);
    if (now < maySpeakAt) return;
    for (const worker of gone)
      await answered(session, this.#store.liveness.declareDead(session, worker, crashGraceMs));
  }

  async #snapshot(session: Connection): Promise<void> {
    const { runner, claimer } = this.#roles;
    const snapshot = this.#snapshots.take(runner.size, claimer.size);
    await answered(session, this.#store.workerStates.record(session, snapshot));
  }

  #newDeathWatch(): DeathWatch {
    return new DeathWatch(this.#options.worker.crashGraceMs, this.#lookEveryMs);
  }

  #lead(leads: boolean): void {
    if (leads === this.#leads) return;
    this.#leads = leads;
    this.#deaths = this.#newDeathWatch();
    this.#lookAt = 0;
    this.#say({ kind: "leads", leads });
  }

  /** Once for each time that it goes wrong, however often it is tried. */
  #trouble(error: unknown): void {
    if (this.#isTroubled || this.#stop.signal.aborted) return;
    this.#isTroubled = true;
    this.#say({ kind: "trouble", error: String(error), isAway: mayPass(error) });
  }

  #say(message: Say): void {
    this.#options.say({ ...message, workerId: this.#options.worker.workerId });
  }
}

/** Gives the session up if it takes too long: what is under way then rejects. */
async function answered<Answer>(session: Connection, asked: Promise<Answer>): Promise<Answer> {
  const timer = setTimeout(() => session.destroy(), ANSWER_MS);
  try {
    return await asked;
  } finally {
    clearTimeout(timer);
  }
}
