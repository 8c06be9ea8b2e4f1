/**
 * A worker from its registration to its end: its row in the registry, its ear on its queues, its loop, its heartbeat. Who is
 * declared dead and comes back lives anew, under another id.
 */
import { hostname } from "node:os";
import { childLogger, type Logger } from "../domain/logger.ts";
import type { WorkerPlan } from "../domain/worker-options.ts";
import { definitionRow } from "../engine/compose-task.ts";
import { despiteSilence } from "../engine/despite-silence.ts";
import { unavailable } from "../engine/repeat-safely.ts";
import type { Listener } from "../runtime/listener.ts";
import { pause } from "../runtime/pause.ts";
import { Periodic } from "../runtime/periodic.ts";
import { ABORT_GRACE_MS, claimKey } from "./held-tasks.ts";
import { Liveness } from "./liveness/liveness.ts";
import { watchedWorker } from "./liveness/watched-worker.ts";
import type { ServiceParts, SharedServices } from "./make-services.ts";
import type { Outage } from "./outage.ts";
import { ProgressReports } from "./progress-reports.ts";
import { reportUnwritten } from "./report-unwritten.ts";
import type { RunServices } from "./run-services.ts";
import { TaskLog } from "./task-log.ts";
import { openEars } from "./worker-ears.ts";
import { WorkLoop } from "./work-loop.ts";
import type { WorkLoopOptions } from "./work-loop-options.ts";

/** The maintenance that runs beside every worker. */
export interface Maintenance {
  /** A worker has died: what it held is waiting. */
  wake(): void;
  /** Ends waiting tasks whose deadline has passed, so long from now. */
  expireIn(ms: number): void;
  /** Puts tasks back that somebody fetched ahead and let lie. */
  releaseLapsed(): Promise<void>;
  stop(): Promise<void>;
}

export interface WorkerSetup extends Omit<WorkLoopOptions, "services">, ServiceParts {
  readonly listener: Listener;
  readonly version: string;
  /** At `debug`, tasks that begin and succeed have a line. */
  readonly logsEveryTask: boolean;
  readonly startMaintenance: (me: {
    readonly workerId: string;
    /** Whether this worker is the one that looks after the others. */
    readonly leads: () => boolean;
    /** Whether it may judge others that have been silent for so long: only while it is heard itself. */
    readonly mayJudge: (thresholdMs: number) => boolean;
  }) => Maintenance;
  readonly onStopped: () => void;
}

export interface LifeOptions {
  readonly workerId: string;
  readonly shared: SharedServices;
  /** For waiting until the database is there. */
  readonly outage: Outage;
  /** Waiting for a database that is away is in vain. */
  readonly isStopping: () => boolean;
  readonly onDead: () => void;
}

/** How long ends are kept trying to be written after the grace, when the database is away or refuses them. */
const LAST_WRITE_MS = 3_000;

interface Parts {
  readonly setup: WorkerSetup;
  readonly services: RunServices;
  readonly loop: WorkLoop;
  readonly liveness: Liveness;
}

/** Registers, and resolves when others can see that it lives and it asks for work. */
export async function beginLife(setup: WorkerSetup, options: LifeOptions): Promise<WorkerLife> {
  const { workerId, shared } = options;
  const { database, config, plan } = setup;
  const log = childLogger(setup.log, { worker: workerId });
  const progress = new ProgressReports(database, log);
  const taskLog = new TaskLog(log, setup.logsEveryTask);
  const services: RunServices = { ...shared, workerId, log, progress, taskLog };
  const loop = new WorkLoop({ ...setup, services, log });
  database.reads.warmUp();
  loop.warmUp();
  const liveness = new Liveness({
    worker: watchedWorker(workerId, await database.locate(), config, plan),
    log,
    claims: () => loop.held.claims(),
    onDead: options.onDead,
    onFence: (isFenced) => loop.fence(isFenced),
    onLongBlock: () => loop.checkClaims(),
  });
  try {
    await register(setup, options);
    await liveness.begin();
  } catch (error) {
    await Promise.all([liveness.end(), loop.close()]);
    throw error;
  }
  return new WorkerLife({ setup, services, loop, liveness });
}

/** Waits for a database that is away, as the loop does. */
async function register(
  { database, config, plan, registry, version }: WorkerSetup,
  { workerId, outage, isStopping }: LifeOptions,
): Promise<void> {
  for (;;) {
    try {
      await database.ensureSchema();
      const definitions = [...registry.values()].map((task) => definitionRow(task, config));
      await database.store.storeDefinitions(database.reads, definitions);
      await database.store.registerWorker.register(database.reads, {
        workerId,
        name: workerName(plan),
        hostname: hostname(),
        pid: process.pid,
        version,
        queues: plan.queues,
        taskNames: [...registry.keys()],
        concurrency: plan.concurrency,
        metadata: { node: process.version, platform: `${process.platform} ${process.arch}` },
      });
      return outage.over();
    } catch (error) {
      if (!outage.isDatabaseAway(error)) throw error;
      if (isStopping()) throw unavailable(error);
      await outage.wait(error);
    }
  }
}

function workerName({ name }: WorkerPlan): string {
  return name ?? `${hostname()}:${process.pid}`;
}

export class WorkerLife {
  readonly log: Logger;
  /** Resolves when the loop has ended, rejects if it could not go on. */
  readonly done: Promise<void>;
  readonly #setup: WorkerSetup;
  readonly #parts: Parts;
  readonly #maintenance: Maintenance;
  readonly #check: Periodic;
  readonly #poll: Periodic;
  readonly #closeEars: () => void;
  #ending: Promise<void> | undefined;

  constructor(parts: Parts) {
    const { setup, services, loop, liveness } = parts;
    const { listener, plan, config, database } = setup;
    const { runnerHeartbeatIntervalMs, claimerHeartbeatIntervalMs } = config.recovery;
    this.#parts = parts;
    this.#setup = setup;
    this.log = services.log;
    const leave = config.directStart ? setup.hosts.add(loop.slots) : undefined;
    this.done = loop.run().finally(() => leave?.());
    const maintenance = setup.startMaintenance({
      workerId: services.workerId,
      leads: () => liveness.leads,
      mayJudge: (thresholdMs) => liveness.mayJudge(thresholdMs),
    });
    this.#maintenance = maintenance;
    liveness.hearDeadlines((inMs) => maintenance.expireIn(inMs));
    this.#closeEars = openEars({
      listener,
      schema: database.store.schema,
      workerId: services.workerId,
      queues: plan.queues,
      coalesceNotifies: plan.coalesceNotifies,
      loop,
      onCancel: (id, claimId) => this.#cancel(claimKey({ id, claimId })),
      onDeath: () => maintenance.wake(),
    });
    this.#check = new Periodic({
      everyMs: Math.min(runnerHeartbeatIntervalMs, claimerHeartbeatIntervalMs),
      run: async () => loop.checkClaims(),
      onError: () => undefined, // the loop reports what fails there
    });
    this.#poll = new Periodic({
      everyMs: config.resilience.notifyPollIntervalMs,
      run: () => this.#lookForWhatWasMissed(),
      onError: (error) => this.log.debug({ error: String(error) }, "a poll failed"),
    });
  }

  get id(): string {
    return this.#parts.services.workerId;
  }

  get name(): string {
    return workerName(this.#setup.plan);
  }

  get runningCount(): number {
    return this.#parts.loop.held.running.size;
  }

  /**
   * Lets running tasks end until `graceIsOver`, aborts them, gives the rest back, and leaves nothing behind. Until the end,
   * what runs is vouched for and can be cancelled, however long the grace is. Safe to repeat.
   */
  end(reason: "SHUTDOWN" | "CLAIM_LOST", graceIsOver: AbortSignal): Promise<void> {
    return (this.#ending ??= this.#end(reason, graceIsOver));
  }

  async #end(reason: "SHUTDOWN" | "CLAIM_LOST", graceIsOver: AbortSignal): Promise<void> {
    const { loop, liveness } = this.#parts;
    const { database, plan } = this.#setup;
    loop.drain();
    // A database that says nothing must not keep the grace from beginning: this is awaited when that is over.
    const told = Promise.all([this.#maintenance.stop(), this.#setState("stopping")]);
    const over = new AbortController();
    const done = this.done.catch(() => undefined).finally(() => over.abort()); // start() has reported it
    await pause(
      reason === "SHUTDOWN" ? plan.shutdownGraceMs : 0,
      AbortSignal.any([over.signal, graceIsOver]),
    );
    const leave = async (): Promise<void> => {
      if (!over.signal.aborted) await this.#giveBack(reason, over.signal);
      await Promise.all([done, told]);
      await this.#putAway();
    };
    await despiteSilence(database, leave, () => {
      this.log.warn("the database says nothing; the worker stops without it");
      loop.giveUp();
    });
    await liveness.end(database.wasSilent);
  }

  async #putAway(): Promise<void> {
    const { loop, services } = this.#parts;
    reportUnwritten(loop.held, this.log);
    this.#closeEars();
    await Promise.all([this.#check.stop(), this.#poll.stop()]);
    services.progress.stop();
    services.taskLog.flush();
    await loop.close();
    if (!this.#setup.database.wasSilent) await this.#setState("stopped");
  }

  /** For every notification that got lost: tasks that were cancelled, and claims that somebody let expire. */
  async #lookForWhatWasMissed(): Promise<void> {
    const { loop } = this.#parts;
    const { store, reads } = this.#setup.database;
    const { running } = loop.held.claims();
    if (running.length > 0) {
      for (const claim of await store.holdClaims.cancelled(reads, running))
        this.#cancel(claimKey(claim));
    }
    if (this.#setup.config.prefetchBuffer > 0) await this.#maintenance.releaseLapsed();
  }

  #cancel(key: string): void {
    const { shutdownGraceMs } = this.#setup.plan;
    const { loop } = this.#parts;
    for (const run of loop.held.running) {
      if (claimKey(run.claimed) === key) run.stop("CANCEL_REQUESTED", shutdownGraceMs);
    }
    // It has not begun: what is given back and was to be cancelled is.
    loop.releaseAhead((task) => claimKey(task) === key);
  }

  /** The grace is over: signals abort, and what still runs a second later is given back under its claim. */
  async #giveBack(reason: "SHUTDOWN" | "CLAIM_LOST", over: AbortSignal): Promise<void> {
    const { loop } = this.#parts;
    const runs = [...loop.held.running];
    const isShutdown = reason === "SHUTDOWN";
    const noneRuns = isShutdown ? loop.held.shutDown() : over;
    for (const run of runs) run.abort(reason);
    await pause(ABORT_GRACE_MS, AbortSignal.any([over, noneRuns]));
    // Before the tasks are anybody else's: what was on a thread is stopped there.
    if (isShutdown) await this.#setup.threads?.close();
    loop.abandon(runs);
    if (isShutdown) await loop.interrupted.atShutdown();
    else loop.interrupted.afterCutOff();
    loop.held.retryRefused();
    loop.ring();
    await pause(LAST_WRITE_MS, over);
    loop.giveUp();
  }

  /** A row that was declared dead stays so. */
  async #setState(state: "stopping" | "stopped"): Promise<void> {
    const { store, reads } = this.#setup.database;
    await store.registerWorker.setState(reads, this.id, state).catch((error: unknown) => {
      this.log.warn({ error: String(error) }, "the worker's state was not written");
    });
  }
}
