/** A worker from start to stop. Declared dead, it registers again under another id and goes on. */
import { randomUUID } from "node:crypto";
import { concurrencyLine, effectiveConfig } from "../config/settings.ts";
import { despiteSilence } from "../database/despite-silence.ts";
import { PosthasteError } from "../domain/errors.ts";
import { childLogger, type Logger } from "../domain/logger.ts";
import { disposeContext, makeServices, type SharedServices } from "./execution/attempt-services.ts";
import { watchUncaughtErrors } from "./execution/uncaught-errors.ts";
import { answersWithin, HealthServer, type WorkerHealth } from "./health.ts";
import { Outage, OutageReport } from "./outage.ts";
import {
  registerAndStart,
  workerName,
  type RegisteredWorker,
  type WorkerSetup,
} from "./registered-worker.ts";

export class Worker implements AsyncDisposable {
  readonly #setup: WorkerSetup;
  readonly #startOutage: Outage;
  readonly #hurry = new AbortController();
  #id = randomUUID();
  #shared: SharedServices | undefined;
  /** The present registration; pending while the worker registers. */
  #registered: Promise<RegisteredWorker> | undefined;
  #present: RegisteredWorker | undefined;
  #stopping: Promise<void> | undefined;
  #unwatch: (() => void) | undefined;
  #probes: HealthServer | undefined;

  constructor(setup: WorkerSetup) {
    this.#setup = setup;
    this.#startOutage = new Outage(setup.config.resilience, new OutageReport(this.#log));
  }

  /** Its id in the registry. It changes when the worker was declared dead and has registered again. */
  get id(): string {
    return this.#id;
  }

  /** Resolves when the worker is registered and asks for work. Safe to repeat. */
  async start(): Promise<this> {
    if (this.#stopping !== undefined) {
      throw new PosthasteError(
        "CLOSED",
        "this worker has been stopped; make another one with app.worker()",
      );
    }
    this.#registered ??= this.#begin().catch((error: unknown) => {
      this.#registered = undefined; // it may be tried again
      throw error;
    });
    await this.#registered;
    return this;
  }

  /**
   * Stops claiming, releases tasks that have not started, lets running tasks end for `shutdownGraceMs`, then aborts their
   * signals and releases the rest. Resolves when the worker has ended. Safe to repeat.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#end();
    return this.#stopping;
  }

  /** Whether as many attempts run as there are slots. */
  get isFull(): boolean {
    return (this.#present?.runningCount ?? 0) >= this.#setup.settings.concurrency;
  }

  /** For probes and dashboards: the state of the worker, and what keeps it from being ready. Asks the database. */
  async health(): Promise<WorkerHealth> {
    const isRegistered = this.#present !== undefined;
    const hasBegun = this.#registered !== undefined;
    const isStopping = this.#stopping !== undefined;
    const isReachable = await answersWithin(this.#setup.database);
    const isFenced = this.#present?.isFenced ?? false;
    const reasons = [
      ...(isStopping ? ["it is stopping, or has stopped"] : []),
      ...(hasBegun ? [] : ["it has not been started"]),
      ...(hasBegun && !isRegistered ? ["it is not registered yet"] : []),
      ...(isReachable ? [] : ["the database does not answer"]),
      ...(isFenced ? ["its heartbeats could not be stored, so it claims nothing"] : []),
    ];
    const name = workerName(this.#setup.settings);
    return { id: this.#id, name, isReady: reasons.length === 0, reasons };
  }

  /** While stopping: the grace period is over now. */
  hurry(): void {
    this.#hurry.abort();
  }

  /** Resolves when the worker has stopped; rejects if it could not go on. */
  async stopped(): Promise<void> {
    for (let worker = await this.#registered; worker !== undefined;) {
      await worker.done;
      const next = await this.#registered;
      if (next === worker) break;
      worker = next;
    }
    await this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  get #log(): Logger {
    return childLogger(this.#setup.log, { worker: this.#id });
  }

  async #begin(): Promise<RegisteredWorker> {
    const { settings, config } = this.#setup;
    const { queues, concurrency } = settings;
    const { registry, version } = this.#setup;
    this.#log.info(
      { queues, concurrency, tasks: registry.size, pid: process.pid, version },
      "worker starting",
    );
    if (settings.healthPort !== undefined && this.#probes === undefined)
      this.#probes = await HealthServer.open(settings.healthPort, () => this.health());
    this.#log.info(concurrencyLine(config, settings));
    this.#log.debug({ config: effectiveConfig(config, settings) }, "effective config");
    this.#shared = await makeServices(this.#setup);
    try {
      const worker = await this.#register(this.#shared);
      this.#unwatch = watchUncaughtErrors(() => this.stop());
      return worker;
    } catch (error) {
      await disposeContext(this.#shared.context);
      throw error;
    }
  }

  async #register(shared: SharedServices): Promise<RegisteredWorker> {
    const { settings, registry } = this.#setup;
    const worker = await registerAndStart(this.#setup, {
      workerId: this.#id,
      shared,
      outage: this.#startOutage,
      isStopping: () => this.#stopping !== undefined,
      onDead: () => this.#registerAgain(shared),
    });
    this.#present = worker;
    worker.done.catch((error: unknown) => {
      worker.log.error({ error: String(error) }, "worker failed; it stops");
      void this.stop();
    });
    const { queues, concurrency } = settings;
    const { id: workerId, name, log } = worker;
    log.info({ name, queues, concurrency, tasks: registry.size }, "worker started");
    this.#setup.hooks.emit.workerStarted?.({ workerId, name, queues });
    return worker;
  }

  /** Other workers have declared this one dead and recover its tasks. It drops those tasks and registers again. */
  #registerAgain(shared: SharedServices): void {
    const past = this.#registered;
    if (past === undefined || this.#stopping !== undefined) return;
    const reregister = async (): Promise<RegisteredWorker> => {
      const worker = await past;
      await worker.end("CLAIM_LOST", AbortSignal.abort());
      if (this.#stopping !== undefined) return worker;
      this.#id = randomUUID();
      return this.#register(shared);
    };
    this.#registered = reregister();
    this.#registered.catch((error: unknown) => {
      this.#log.error(
        { error: String(error) },
        "could not register the worker again; the worker stops",
      );
      void this.stop();
    });
  }

  async #end(): Promise<void> {
    this.#startOutage.cutShort();
    const { database } = this.#setup;
    const begun = async (): Promise<RegisteredWorker | undefined> => this.#registered;
    const worker = await despiteSilence(database, begun, () => undefined).catch(
      () => undefined, // start() has reported it
    );
    if (worker !== undefined) {
      worker.log.info({ running: worker.runningCount }, "worker stopping");
      await worker.end("SHUTDOWN", this.#hurry.signal);
    }
    if (this.#shared !== undefined) {
      await this.#setup.threads?.close();
      await disposeContext(this.#shared.context);
    }
    this.#unwatch?.();
    await this.#probes?.close();
    this.#setup.onStopped();
    if (worker === undefined) return;
    worker.log.info("worker stopped");
    const { hooks, settings } = this.#setup;
    const { id: workerId, name } = worker;
    hooks.emit.workerStopped?.({ workerId, name, queues: settings.queues });
  }
}
