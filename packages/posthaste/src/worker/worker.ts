/** A worker from start to stop, however many lives that takes. */
import { randomUUID } from "node:crypto";
import { childLogger, type Logger } from "../domain/logger.ts";
import { concurrencyLine, effectiveConfig } from "../domain/config-settings.ts";
import { PosthasteError } from "../domain/errors.ts";
import { despiteSilence } from "../engine/despite-silence.ts";
import { disposeContext, makeServices, type SharedServices } from "./make-services.ts";
import { Outage, OutageReport } from "./outage.ts";
import { watchStrayErrors } from "./stray-errors.ts";
import { beginLife, type WorkerLife, type WorkerSetup } from "./worker-life.ts";

export class Worker implements AsyncDisposable {
  readonly #setup: WorkerSetup;
  readonly #startOutage: Outage;
  readonly #hurry = new AbortController();
  #id = randomUUID();
  #shared: SharedServices | undefined;
  /** The present life; pending while it registers, the first time or anew. */
  #life: Promise<WorkerLife> | undefined;
  #present: WorkerLife | undefined;
  #stopping: Promise<void> | undefined;
  #unwatch: (() => void) | undefined;

  constructor(setup: WorkerSetup) {
    this.#setup = setup;
    this.#startOutage = new Outage(setup.config.resilience, new OutageReport(this.#log));
  }

  /** Its id in the registry. Another one when it was declared dead, came back and registered anew. */
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
    this.#life ??= this.#begin().catch((error: unknown) => {
      this.#life = undefined; // it may be tried again
      throw error;
    });
    await this.#life;
    return this;
  }

  /**
   * Stops claiming, gives back what has not started, lets running tasks end for `shutdownGraceMs`, then aborts their
   * signals and gives the rest back. Resolves when nothing of this worker is left. Safe to repeat.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#end();
    return this.#stopping;
  }

  /** Whether every slot is taken. */
  get isFull(): boolean {
    return (this.#present?.runningCount ?? 0) >= this.#setup.plan.concurrency;
  }

  /** While stopping: the grace period is over now. */
  hurry(): void {
    this.#hurry.abort();
  }

  /** Resolves when the worker has stopped; rejects if it could not go on. */
  async stopped(): Promise<void> {
    for (let life = await this.#life; life !== undefined;) {
      await life.done;
      const next = await this.#life;
      if (next === life) break;
      life = next;
    }
    await this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  get #log(): Logger {
    return childLogger(this.#setup.log, { worker: this.#id });
  }

  async #begin(): Promise<WorkerLife> {
    const { plan, config } = this.#setup;
    const { queues, concurrency } = plan;
    const { registry, version } = this.#setup;
    this.#log.info(
      { queues, concurrency, tasks: registry.size, pid: process.pid, version },
      "worker starting",
    );
    this.#log.info(concurrencyLine(config, plan));
    this.#log.debug({ config: effectiveConfig(config, plan) }, "effective config");
    this.#shared = await makeServices(this.#setup, this.#setup.log);
    try {
      const life = await this.#live(this.#shared);
      this.#unwatch = watchStrayErrors(() => this.stop());
      return life;
    } catch (error) {
      await disposeContext(this.#shared.context);
      throw error;
    }
  }

  async #live(shared: SharedServices): Promise<WorkerLife> {
    const { plan, registry } = this.#setup;
    const life = await beginLife(this.#setup, {
      workerId: this.#id,
      shared,
      outage: this.#startOutage,
      isStopping: () => this.#stopping !== undefined,
      onDead: () => this.#return(shared),
    });
    this.#present = life;
    life.done.catch((error: unknown) => {
      life.log.error({ error: String(error) }, "the worker cannot go on and stops");
      void this.stop();
    });
    const { queues, concurrency } = plan;
    life.log.info({ name: life.name, queues, concurrency, tasks: registry.size }, "worker started");
    this.#setup.hooks.emit.workerStarted?.({ workerId: life.id, name: life.name, queues });
    return life;
  }

  /** Others hold it for dead: what it ran is theirs. It lets go of that, and begins anew. */
  #return(shared: SharedServices): void {
    const past = this.#life;
    if (past === undefined || this.#stopping !== undefined) return;
    const rebegin = async (): Promise<WorkerLife> => {
      const life = await past;
      await life.end("CLAIM_LOST", AbortSignal.abort());
      if (this.#stopping !== undefined) return life;
      this.#id = randomUUID();
      return this.#live(shared);
    };
    this.#life = rebegin();
    this.#life.catch((error: unknown) => {
      this.#log.error({ error: String(error) }, "the worker could not register anew and stops");
      void this.stop();
    });
  }

  async #end(): Promise<void> {
    this.#startOutage.cutShort();
    const { database } = this.#setup;
    const begun = async (): Promise<WorkerLife | undefined> => this.#life;
    const life = await despiteSilence(database, begun, () => undefined).catch(
      () => undefined, // start() has reported it
    );
    if (life !== undefined) {
      life.log.info({ running: life.runningCount }, "worker stops");
      await life.end("SHUTDOWN", this.#hurry.signal);
    }
    if (this.#shared !== undefined) {
      await this.#setup.threads?.close();
      await disposeContext(this.#shared.context);
    }
    this.#unwatch?.();
    this.#setup.onStopped();
    if (life === undefined) return;
    life.log.info("worker stopped");
    const { hooks, plan } = this.#setup;
    hooks.emit.workerStopped?.({ workerId: life.id, name: life.name, queues: plan.queues });
  }
}
