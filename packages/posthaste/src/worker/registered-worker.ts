/**
 * One registration of a worker, from its row in `workers` to its end: subscriptions, loop, heartbeats and shutdown. A worker that
 * was declared dead registers again under another id.
 */
import { hostname } from "node:os";
import { effectiveConfig } from "../config/settings.ts";
import type { WorkerSettings } from "../config/worker-options.ts";
import { despiteSilence } from "../database/despite-silence.ts";
import { unavailable } from "../database/repeat-safely.ts";
import { childLogger, type Logger } from "../domain/logger.ts";
import type { Maintenance } from "../recovery/maintenance.ts";
import type { Listener } from "../runtime/listener.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import { pause } from "../runtime/pause.ts";
import { Periodic } from "../runtime/periodic.ts";
import { definitionRow } from "../sending/compose-task.ts";
import { claimKey } from "../store/queries/claim/stored-claims.ts";
import type {
  ServiceParts,
  SharedServices,
  AttemptServices,
} from "./execution/attempt-services.ts";
import { ProgressReports } from "./execution/progress-reports.ts";
import { Rollups } from "./execution/rollups.ts";
import { TaskLog } from "./execution/task-log.ts";
import { Liveness } from "./liveness/liveness.ts";
import { watchedWorker } from "./liveness/watched-worker.ts";
import { subscribeWorker } from "./notifications.ts";
import type { Outage } from "./outage.ts";
import { reportUnwritten } from "./settlement/settlement.ts";
import { ABORT_GRACE_MS } from "./slots/in-flight.ts";
import { WorkLoop, type WorkLoopOptions } from "./work-loop.ts";

export interface WorkerSetup extends Omit<WorkLoopOptions, "services">, ServiceParts {
  readonly listener: Listener;
  readonly version: string;
  /** At `debug`, tasks that begin and succeed have a line. */
  readonly logsEveryTask: boolean;
  readonly startMaintenance: (me: {
    readonly workerId: string;
    /** Whether this worker leads, and so looks for dead workers. */
    readonly leads: () => boolean;
    /** Whether it may judge workers that have been silent for this long: only while its own heartbeats are written. */
    readonly mayJudge: (thresholdMs: number) => boolean;
  }) => Maintenance;
  /** Stores the schedules of the app. */
  readonly storeSchedules: () => Promise<void>;
  readonly startScheduler: (me: { readonly leads: () => boolean }) => Scheduler;
  readonly onStopped: () => void;
}

export interface RegistrationOptions {
  readonly workerId: string;
  readonly shared: SharedServices;
  /** Waits until the database is reachable. */
  readonly outage: Outage;
  /** True ends the wait for the database. */
  readonly isStopping: () => boolean;
  readonly onDead: () => void;
}

/** How long the worker still tries to write ends after the grace, if the database is unreachable or refuses them. */
const LAST_WRITE_MS = 3_000;

interface Parts {
  readonly setup: WorkerSetup;
  readonly services: AttemptServices;
  readonly loop: WorkLoop;
  readonly liveness: Liveness;
}

/**
 * Registers. Resolves when other workers can see its lock and its loop runs. The lock is that of the session that registers, until the
 * liveness thread has written the key of its own: a thread takes 70 ms to start, and tasks need not wait for it.
 */
export async function registerAndStart(
  setup: WorkerSetup,
  options: RegistrationOptions,
): Promise<RegisteredWorker> {
  const { workerId, shared } = options;
  const { database, config, settings } = setup;
  const log = childLogger(setup.log, { worker: workerId });
  const progress = new ProgressReports(database, log);
  const taskLog = new TaskLog(log, setup.logsEveryTask);
  const rollups = new Rollups();
  const services: AttemptServices = { ...shared, workerId, log, progress, taskLog, rollups };
  const loop = new WorkLoop({ ...setup, services, log });
  database.reads.warmUp();
  loop.warmUp();
  const liveness = new Liveness({
    worker: watchedWorker(workerId, await database.locate(), config, settings),
    log,
    claims: () => loop.inFlight.claims(),
    takeRollups: () => rollups.take(),
    onClock: (aheadMs) => rollups.setClock(aheadMs),
    onDead: options.onDead,
    onFence: (isFenced) => loop.fence(isFenced),
    onLongBlock: () => loop.requestReconcile(),
  });
  try {
    const { hasLock, clockAheadMs } = await register(setup, options);
    rollups.setClock(clockAheadMs);
    const begun = liveness.begin();
    if (!hasLock) await begun;
  } catch (error) {
    await Promise.all([liveness.end(), loop.close()]);
    throw error;
  }
  return new RegisteredWorker({ setup, services, loop, liveness });
}

interface Registration {
  /** Whether a lock shows from now on that the process lives. */
  readonly hasLock: boolean;
  /** The database's clock minus `performance.now()`. */
  readonly clockAheadMs: number;
}

/** Waits for an unreachable database, as the loop does. */
async function register(
  { database, config, settings, registry, version, storeSchedules }: WorkerSetup,
  { workerId, outage, isStopping }: RegistrationOptions,
): Promise<Registration> {
  for (;;) {
    try {
      await database.ensureSchema();
      const definitions = [...registry.values()].map((task) => definitionRow(task, config));
      const { store } = database;
      const session = await database.reads.connection();
      const livenessKey = session.isOurs ? await store.liveness.takeLock(session) : null;
      await store.storeDefinitions(session, definitions);
      const askedAt = performance.now();
      const serverMs = await store.registerWorker.register(session, {
        workerId,
        name: workerName(settings),
        hostname: hostname(),
        pid: process.pid,
        version,
        queues: settings.queues,
        taskNames: [...registry.keys()],
        concurrency: settings.concurrency,
        livenessKey,
        config: effectiveConfig(config, settings),
        metadata: {
          role: settings.concurrency === 0 ? "scheduler" : "worker",
          node: process.version,
          platform: `${process.platform} ${process.arch}`,
        },
      });
      if (settings.scheduler) await storeSchedules();
      outage.over();
      const clockAheadMs = serverMs - (askedAt + performance.now()) / 2;
      return { hasLock: livenessKey !== null, clockAheadMs };
    } catch (error) {
      if (!outage.isDatabaseAway(error)) throw error;
      if (isStopping()) throw unavailable(error);
      await outage.wait(error);
    }
  }
}

export function workerName({ name }: WorkerSettings): string {
  return name ?? `${hostname()}:${process.pid}`;
}

export class RegisteredWorker {
  readonly log: Logger;
  /** Resolves when the loop has ended, rejects if it could not go on. */
  readonly done: Promise<void>;
  readonly #setup: WorkerSetup;
  readonly #parts: Parts;
  readonly #maintenance: Maintenance;
  readonly #scheduler: Scheduler | undefined;
  readonly #check: Periodic;
  readonly #poll: Periodic;
  readonly #unsubscribe: () => void;
  #ending: Promise<void> | undefined;

  constructor(parts: Parts) {
    const { setup, services, loop, liveness } = parts;
    const { listener, settings, config, database } = setup;
    const { runnerHeartbeatIntervalMs, claimerHeartbeatIntervalMs } = config.recovery;
    this.#parts = parts;
    this.#setup = setup;
    this.log = services.log;
    const leave = config.directStart ? setup.localWorkers.add(loop.directStart) : undefined;
    this.done = loop.run().finally(() => leave?.());
    const maintenance = setup.startMaintenance({
      workerId: services.workerId,
      leads: () => liveness.leads,
      mayJudge: (thresholdMs) => liveness.mayJudge(thresholdMs),
    });
    this.#maintenance = maintenance;
    if (settings.scheduler) {
      const scheduler = setup.startScheduler({ leads: () => liveness.leads });
      liveness.watchLead(() => scheduler.wake());
      this.#scheduler = scheduler;
    }
    liveness.watchDeadlines((inMs) => maintenance.expireIn(inMs));
    this.#unsubscribe = subscribeWorker({
      listener,
      schema: database.store.schema,
      workerId: services.workerId,
      queues: settings.queues,
      coalesceNotifies: settings.coalesceNotifies,
      loop,
      onCancel: (id, claimId) => this.#cancel(claimKey({ id, claimId })),
      onDeath: () => maintenance.wake(),
    });
    this.#check = new Periodic({
      everyMs: Math.min(runnerHeartbeatIntervalMs, claimerHeartbeatIntervalMs),
      run: async () => loop.requestReconcile(),
      onError: () => undefined, // the loop reports what fails there
    });
    this.#poll = new Periodic({
      everyMs: config.resilience.notifyPollIntervalMs,
      run: () => this.#lookForWhatWasMissed(),
      onError: (error) =>
        this.log.debug(
          { error: String(error) },
          "poll for cancelled tasks and expired leases failed; the next poll retries",
        ),
    });
  }

  get id(): string {
    return this.#parts.services.workerId;
  }

  get name(): string {
    return workerName(this.#setup.settings);
  }

  /** Its heartbeats could not be stored for so long that other workers may have taken its tasks. */
  get isFenced(): boolean {
    return this.#parts.loop.isFenced;
  }

  get runningCount(): number {
    return this.#parts.loop.inFlight.running.size;
  }

  /**
   * Lets running tasks end until `graceIsOver`, aborts them and releases the rest. Until then running tasks have heartbeats and can
   * be cancelled, however long the grace is. Safe to repeat.
   */
  end(reason: "SHUTDOWN" | "CLAIM_LOST", graceIsOver: AbortSignal): Promise<void> {
    return (this.#ending ??= this.#end(reason, graceIsOver));
  }

  async #end(reason: "SHUTDOWN" | "CLAIM_LOST", graceIsOver: AbortSignal): Promise<void> {
    const { loop, liveness } = this.#parts;
    const { database, settings } = this.#setup;
    loop.drain();
    // A silent database must not delay the grace: this is awaited after it.
    const told = Promise.all([
      this.#maintenance.stop(),
      this.#scheduler?.stop(),
      this.#setState("stopping"),
    ]);
    const over = new AbortController();
    const done = this.done.catch(() => undefined).finally(() => over.abort()); // start() has reported it
    await pause(
      reason === "SHUTDOWN" ? settings.shutdownGraceMs : 0,
      AbortSignal.any([over.signal, graceIsOver]),
    );
    const leave = async (): Promise<void> => {
      if (!over.signal.aborted) await this.#giveBack(reason, over.signal);
      await Promise.all([done, told]);
      await this.#putAway();
    };
    await despiteSilence(database, leave, () => {
      this.log.warn("database does not answer; the worker stops, other workers recover its tasks");
      loop.giveUp();
    });
    await liveness.end(database.wasSilent);
  }

  async #putAway(): Promise<void> {
    const { loop, services } = this.#parts;
    reportUnwritten(loop.inFlight, this.log);
    this.#unsubscribe();
    await Promise.all([this.#check.stop(), this.#poll.stop()]);
    services.progress.stop();
    services.taskLog.flush();
    await loop.close();
    if (!this.#setup.database.wasSilent) await this.#setState("stopped");
  }

  /** Covers lost notifications: cancelled tasks, and prefetched tasks whose lease has run out. */
  async #lookForWhatWasMissed(): Promise<void> {
    const { loop } = this.#parts;
    const { store, reads } = this.#setup.database;
    const { running } = loop.inFlight.claims();
    if (running.length > 0) {
      for (const claim of await store.storedClaims.cancelled(reads, running))
        this.#cancel(claimKey(claim));
    }
    if (this.#setup.config.prefetchBuffer > 0) await this.#maintenance.releaseLapsed();
  }

  #cancel(key: string): void {
    const { shutdownGraceMs } = this.#setup.settings;
    const { loop } = this.#parts;
    for (const attempt of loop.inFlight.running) {
      if (claimKey(attempt.claimed) === key) attempt.stop("CANCEL_REQUESTED", shutdownGraceMs);
    }
    // Not started yet: releasing it lets the settle statement turn it into CANCELLED.
    loop.releasePrefetched((task) => claimKey(task) === key);
  }

  /** The grace is over: signals abort, and attempts that still run a second later are released under their claims. */
  async #giveBack(reason: "SHUTDOWN" | "CLAIM_LOST", over: AbortSignal): Promise<void> {
    const { loop } = this.#parts;
    const attempts = [...loop.inFlight.running];
    const isShutdown = reason === "SHUTDOWN";
    const noneRuns = isShutdown ? loop.inFlight.shutDown() : over;
    for (const attempt of attempts) attempt.abort(reason);
    await pause(ABORT_GRACE_MS, AbortSignal.any([over, noneRuns]));
    // Before another worker may claim the tasks: threads that run them are ended.
    if (isShutdown) await this.#setup.threads?.close();
    loop.abandon(attempts);
    if (isShutdown) await loop.interrupted.atShutdown();
    else loop.interrupted.afterCutOff();
    loop.inFlight.retryRefused();
    loop.wake();
    await pause(LAST_WRITE_MS, over);
    loop.giveUp();
  }

  /** A row that was declared dead stays so. */
  async #setState(state: "stopping" | "stopped"): Promise<void> {
    const { store, reads } = this.#setup.database;
    await store.registerWorker.setState(reads, this.id, state).catch((error: unknown) => {
      this.log.warn(
        { state, error: String(error) },
        "could not store the state of the worker; stopping anyway",
      );
    });
  }
}
