/**
 * The work of the liveness thread for one worker: it holds the advisory lock that shows that the process lives, writes the heartbeats of
 * its row and its claims, and looks for dead workers if it leads. A session that is lost or does not answer is replaced.
 */
import { mayPass } from "../../database/repeat-safely.ts";
import { Backoff } from "../../runtime/backoff.ts";
import { monotonicMs } from "../../runtime/monotonic-ms.ts";
import { pause } from "../../runtime/pause.ts";
import { WakeSignal } from "../../runtime/wake-signal.ts";
import type { Connection } from "../../store/connection.ts";
import { openSession } from "../../store/open-session.ts";
import type { Claim } from "../../store/queries/claim/stored-claims.ts";
import type { Rollup } from "../../store/queries/statistics/write-rollups.ts";
import type { Role } from "../../store/queries/worker/heartbeat.ts";
import { createStore, type Store } from "../../store/store.ts";
import { BlockedWorker } from "./blocked-worker.ts";
import { DatabaseClock } from "./database-clock.ts";
import { HeartbeatSchedule } from "./heartbeat-schedule.ts";
import type { LoopWatch } from "./loop-watch.ts";
import type { FromLiveness, WatchedWorker } from "./messages.ts";
import { MissingWorkers } from "./missing-workers.ts";
import { RollupQueue } from "./rollup-queue.ts";
import { Snapshots } from "./snapshots.ts";

/** A session that has not answered for this long is replaced. */
const ANSWER_MS = 5_000;
/** A leader that cannot act for this long must not block another. */
const LEADER_BLOCKED_MS = 2_000;
/** After a reconnect other workers may be reconnecting too: no worker is declared dead before they had the time. */
const SETTLE_MS = 5_000;
const LEAST_LOOK_MS = 250;
const MOST_LOOK_MS = 1_650;
/** Part of the stale threshold after which other workers may recover the tasks at any moment. */
const FENCE_AT = 0.9;
/** A heartbeat may be this late. */
const HICCUP_MS = 500;

type OwnMessage = FromLiveness extends infer Message
  ? Message extends { workerId: string }
    ? Omit<Message, "workerId">
    : never
  : never;

export interface LivenessSessionOptions {
  readonly worker: WatchedWorker;
  readonly loop: LoopWatch;
  readonly heapBytes: () => number;
  readonly post: (message: FromLiveness) => void;
}

export class LivenessSession {
  readonly worker: WatchedWorker;
  readonly blocked: BlockedWorker;
  readonly #options: LivenessSessionOptions;
  readonly #store: Store;
  readonly #wakeSignal = new WakeSignal();
  readonly #stop = new AbortController();
  readonly #roles: Readonly<Record<Role, HeartbeatSchedule>>;
  readonly #snapshots: Snapshots;
  readonly #rollups = new RollupQueue();
  readonly #clock = new DatabaseClock();
  readonly #lookEveryMs: number;
  readonly #done: Promise<void>;
  #session: Connection | undefined;
  #key: number | null = null;
  #isRegistered = false;
  #isFenced = false;
  #isTroubled = false;
  /** Whether it looks for dead workers: it holds the leader's lock, or stands in for a silent leader. */
  #leads = false;
  #holdsLead = false;
  #hasOthers = false;
  #missing: MissingWorkers;
  #beatAt = 0;
  #lookAt = 0;
  /** When all due heartbeats were last written. */
  #heardAt = performance.now();
  #saidHeardAt = -Infinity;

  constructor(options: LivenessSessionOptions) {
    const { worker } = options;
    this.#options = options;
    this.worker = worker;
    this.blocked = new BlockedWorker(worker, options.loop);
    this.#store = createStore(worker.schema);
    this.#roles = {
      runner: new HeartbeatSchedule(worker.runnerHeartbeatIntervalMs),
      claimer: new HeartbeatSchedule(worker.claimerHeartbeatIntervalMs),
    };
    this.#snapshots = new Snapshots(worker, options.heapBytes, options.loop);
    this.#lookEveryMs = Math.min(MOST_LOOK_MS, Math.max(LEAST_LOOK_MS, worker.crashGraceMs / 3));
    this.#missing = this.#newMissingWorkers();
    this.#done = this.#run();
  }

  registered(): void {
    this.#isRegistered = true;
    this.#wakeSignal.wake();
  }

  get isRegistered(): boolean {
    return this.#isRegistered;
  }

  /** A last heartbeat before the process is ended, so that recoveries can say why. Never rejects. */
  async storeBlocked(): Promise<void> {
    if (this.#session === undefined) return;
    await this.#beat(this.#session, this.#key).catch(() => undefined); // the database is unreachable: the process ends all the same
  }

  hold(running: readonly Claim[], prefetched: readonly Claim[]): void {
    const now = performance.now();
    this.#roles.runner.hold(running, now);
    this.#roles.claimer.hold(prefetched, now);
    this.#wakeSignal.wake();
  }

  addRollups(rollups: readonly Rollup[]): void {
    this.#rollups.add(rollups);
  }

  /** Called a few times a second, whatever the database does. */
  tick(): void {
    const { worker } = this.#options;
    const now = performance.now();
    const silentMs = this.#roles.runner.oldestSignMs(now);
    const isCutOff = now - this.#heardAt > worker.beatMs + HICCUP_MS;
    if (this.blocked.needsTasks) this.#wakeSignal.wake();
    const isSilent = isCutOff && silentMs > worker.runningStaleThresholdMs * FENCE_AT;
    if (isSilent && !this.#isFenced) {
      this.#isFenced = true;
      this.#post({ kind: "fenced", silentMs });
    }
  }

  async leave(): Promise<void> {
    this.#stop.abort();
    this.#wakeSignal.wake();
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
        await this.#writeRollups(session);
      } catch (error) {
        this.#trouble(error);
      }
      this.#session = undefined;
      await session?.close();
      this.#holdsLead = false;
      this.#lead(false);
      await pause(backoff.next(), signal);
    }
    await this.#writeLastRollups();
  }

  /** A worker that stopped before this thread had a session still tells what it has ended. */
  async #writeLastRollups(): Promise<void> {
    if (!this.#isRegistered || this.#rollups.isEmpty) return;
    try {
      const session = await this.#open();
      await this.#writeRollups(session);
      await session.close();
    } catch {
      // The database is away: statistics are approximate.
    }
  }

  #open(): Promise<Connection> {
    const { url, preparedStatements } = this.#options.worker;
    return openSession({
      url,
      preparedStatements,
      profile: "heartbeats",
      applicationName: "posthaste liveness",
    });
  }

  async #serve(session: Connection, onBeat: () => void): Promise<void> {
    const { signal } = this.#stop;
    void session.lost.then(() => this.#wakeSignal.wake());
    // Behind a pooler the session is shared, and its locks would stay when another client gets it.
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
      await this.#sendHeartbeats(session, "runner");
      await this.#sendHeartbeats(session, "claimer");
      if (this.#isRegistered) this.#heard();
      if (this.blocked.needsTasks) await this.#readTasks(session);
      if (this.#isLooking && key !== null && now >= this.#lookAt)
        await this.#look(session, maySpeakAt);
      if (this.#isRegistered && this.#snapshots.isDue(now)) await this.#snapshot(session);
      await this.#wakeSignal.wait(this.#restMs());
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
    const askedAt = monotonicMs();
    const reply = await answered(session, this.#store.liveness.beat(session, beat));
    this.#clock.answered(reply.serverMs, askedAt, monotonicMs());
    this.#beatAt = performance.now() + beatMs * (0.95 + 0.1 * Math.random());
    if (reply.state === null) {
      this.#post({ kind: "dead" });
      this.#stop.abort();
      return;
    }
    this.#isTroubled = false;
    this.#hasOthers = reply.hasOthers;
    this.#holdsLead = reply.leads;
    // Without an own session no worker can hold the leader's lock. All duties of a leader are safe with several leaders.
    this.#lead(reply.leads || reply.stepsIn || key === null);
    if (reply.deadlineMs !== null) this.#post({ kind: "deadline", inMs: reply.deadlineMs });
  }

  async #sendHeartbeats(session: Connection, role: Role): Promise<void> {
    if (!this.#isRegistered) return;
    const schedule = this.#roles[role];
    const due = schedule.due(performance.now());
    if (due.length === 0) return;
    const { worker, loop } = this.#options;
    const heartbeat = {
      role,
      sender: worker,
      leaseMs: worker.claimLeaseMs,
      loopBlockedMs: loop.blockedMs,
    };
    const ids = await answered(session, this.#store.heartbeat(session, heartbeat, due));
    schedule.sent(due, ids, performance.now());
  }

  async #readTasks(session: Connection): Promise<void> {
    const { workerId, resilientFlags } = this.worker;
    const reading = this.#store.storedClaims.running(session, workerId, resilientFlags);
    this.blocked.runs(await answered(session, reading));
  }

  #heard(): void {
    const now = performance.now();
    this.#heardAt = now;
    if (now - this.#saidHeardAt >= this.worker.beatMs / 2) {
      this.#saidHeardAt = now;
      this.#post({ kind: "heard", clockAheadMs: this.#clock.aheadMs });
    }
    if (!this.#isFenced) return;
    this.#isFenced = false;
    this.#post({ kind: "unfenced" });
  }

  async #look(session: Connection, maySpeakAt: number): Promise<void> {
    const { workerId, crashGraceMs } = this.#options.worker;
    const look = await answered(session, this.#store.liveness.look(session, workerId));
    const now = performance.now();
    const gone = this.#missing.look(look, now);
    this.#lookAt = now + this.#missing.nextLookMs(this.#lookEveryMs, now);
    if (now < maySpeakAt) return;
    for (const worker of gone)
      await answered(session, this.#store.liveness.declareDead(session, worker, crashGraceMs));
  }

  async #snapshot(session: Connection): Promise<void> {
    const { runner, claimer } = this.#roles;
    const snapshot = this.#snapshots.take(runner.size, claimer.size);
    await answered(session, this.#store.workerStates.record(session, snapshot));
    await this.#writeRollups(session);
  }

  async #writeRollups(session: Connection): Promise<void> {
    const { workerId } = this.#options.worker;
    await this.#rollups.write((rollups) =>
      answered(session, this.#store.writeRollups.write(session, workerId, rollups)),
    );
  }

  #newMissingWorkers(): MissingWorkers {
    return new MissingWorkers(this.#options.worker.crashGraceMs, this.#lookEveryMs);
  }

  #lead(leads: boolean): void {
    if (leads === this.#leads) return;
    this.#leads = leads;
    this.#missing = this.#newMissingWorkers();
    this.#lookAt = 0;
    this.#post({ kind: "leads", leads });
  }

  /** Logs once per outage. */
  #trouble(error: unknown): void {
    if (this.#isTroubled || this.#stop.signal.aborted) return;
    this.#isTroubled = true;
    this.#post({ kind: "trouble", error: String(error), isAway: mayPass(error) });
  }

  #post(message: OwnMessage): void {
    this.#options.post({ ...message, workerId: this.#options.worker.workerId });
  }
}

/** Destroys the session if it takes too long, which rejects the call under way. */
async function answered<Answer>(session: Connection, asked: Promise<Answer>): Promise<Answer> {
  const timer = setTimeout(() => session.destroy(), ANSWER_MS);
  try {
    return await asked;
  } finally {
    clearTimeout(timer);
  }
}
