/** A worker from start to stop: its row in the registry, its ear on its queues, its loop, its heartbeat. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { WorkerEvent } from "../define/hooks.ts";
import { childLogger } from "../domain/child-logger.ts";
import { concurrencyLine, effectiveConfig } from "../domain/config-settings.ts";
import { PosthasteError } from "../domain/errors.ts";
import type { Logger } from "../domain/logger.ts";
import { isRepeatable } from "../engine/repeat-safely.ts";
import type { Listener } from "../runtime/listener.ts";
import { pause } from "../runtime/pause.ts";
import { Periodic } from "../runtime/periodic.ts";
import { claimKey } from "./held-tasks.ts";
import { Outage } from "./outage.ts";
import { disposeContext, makeServices, type ServiceParts } from "./make-services.ts";
import type { RunServices } from "./run-services.ts";
import { watchStrayErrors } from "./stray-errors.ts";
import { openEars } from "./worker-ears.ts";
import { WorkLoop, type WorkLoopOptions } from "./work-loop.ts";

export interface WorkerSetup extends Omit<WorkLoopOptions, "services">, ServiceParts {
  readonly listener: Listener;
  readonly version: string;
  /** The maintenance that runs beside every worker. */
  readonly startMaintenance: () => Periodic;
  readonly onStopped: () => void;
}

/** How long an aborted body has to notice before its task is given back. */
const ABORT_GRACE_MS = 1_000;
/** How long ends are kept trying to be written while stopping, when the database is away. */
const LAST_WRITE_MS = 5_000;

export class Worker implements AsyncDisposable {
  readonly id = randomUUID();
  readonly #setup: WorkerSetup;
  readonly #log: Logger;
  readonly #startOutage: Outage;
  #starting: Promise<Life> | undefined;
  #life: Life | undefined;
  readonly #hurry = new AbortController();
  #stopping: Promise<void> | undefined;

  constructor(setup: WorkerSetup) {
    this.#setup = setup;
    this.#log = childLogger(setup.log, { worker: this.id });
    this.#startOutage = new Outage(setup.config.resilience, this.#log);
  }

  /** Resolves when the worker is registered and asks for work. Safe to repeat. */
  async start(): Promise<this> {
    if (this.#stopping !== undefined) {
      throw new PosthasteError(
        "CLOSED",
        "this worker has been stopped; make another one with app.worker()",
      );
    }
    this.#starting ??= this.#begin().catch((error: unknown) => {
      this.#starting = undefined; // it may be tried again
      throw error;
    });
    this.#life = await this.#starting;
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

  /** While stopping: the grace period is over now. */
  hurry(): void {
    this.#hurry.abort();
  }

  /** Resolves when the worker has stopped; rejects if it could not go on. */
  async stopped(): Promise<void> {
    await this.#life?.done;
    await this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #begin(): Promise<Life> {
    const { database, plan, config, registry } = this.#setup;
    const name = this.#name;
    this.#log.info({ config: effectiveConfig(config, plan) }, "effective config");
    this.#log.info(concurrencyLine(config, plan));
    const services = await makeServices(this.#setup, this.id, this.#log);
    const loop = new WorkLoop({ ...this.#setup, services, log: this.#log });
    database.reads.warmUp();
    loop.warmUp();
    try {
      await this.#register(name);
    } catch (error) {
      await loop.close();
      await disposeContext(services.context);
      throw error;
    }
    const life = this.#live(loop, services);
    life.done.catch((error: unknown) => {
      this.#log.error({ error: String(error) }, "the worker cannot go on and stops");
      void this.stop();
    });
    this.#log.info(
      { name, queues: plan.queues, concurrency: plan.concurrency, tasks: registry.size },
      "worker started",
    );
    this.#setup.hooks.emit.workerStarted?.(this.#event());
    return life;
  }

  #live(loop: WorkLoop, services: RunServices): Life {
    const { database, plan, config, listener } = this.#setup;
    const { store, reads } = database;
    const { runnerHeartbeatIntervalMs, claimerHeartbeatIntervalMs } = config.recovery;
    return {
      loop,
      services,
      done: loop.run(),
      unwatch: watchStrayErrors(() => this.stop()),
      maintenance: this.#setup.startMaintenance(),
      closeEars: openEars({
        listener,
        schema: store.schema,
        workerId: this.id,
        queues: plan.queues,
        coalesceNotifies: plan.coalesceNotifies,
        loop,
        onCancel: (id, claimId) => this.#cancel(loop, claimKey({ id, claimId })),
      }),
      heartbeat: new Periodic({
        everyMs: Math.min(runnerHeartbeatIntervalMs, claimerHeartbeatIntervalMs),
        run: async () => {
          loop.checkClaims();
          await store.registerWorker.beat(reads, this.id);
        },
        // The loop says that the database is away, once.
        onError: (error) =>
          this.#log[isRepeatable(error) ? "debug" : "warn"](
            { error: String(error) },
            "a heartbeat was not written",
          ),
      }),
      poll: new Periodic({
        everyMs: config.resilience.notifyPollIntervalMs,
        run: () => this.#poll(loop),
        onError: (error) => this.#log.debug({ error: String(error) }, "a poll failed"),
      }),
    };
  }

  /** For every notification that got lost: tasks that were cancelled, and claims that somebody let expire. */
  async #poll(loop: WorkLoop): Promise<void> {
    const { database, config } = this.#setup;
    const { store, reads } = database;
    const running = [...loop.held.running].map(({ claimed }) => claimed);
    if (running.length > 0) {
      for (const claim of await store.holdClaims.cancelled(reads, running))
        this.#cancel(loop, claimKey(claim));
    }
    if (config.prefetchBuffer === 0) return;
    for (const { queue, priority } of await store.releaseExpired(reads, null))
      loop.hint(queue, { priority, due: "back" });
  }

  #cancel(loop: WorkLoop, key: string): void {
    const { shutdownGraceMs } = this.#setup.plan;
    for (const run of loop.held.running) {
      if (claimKey(run.claimed) === key) run.stop("CANCEL_REQUESTED", shutdownGraceMs);
    }
  }

  /** Waits for a database that is away, as the loop does. */
  async #register(name: string): Promise<void> {
    const { database, plan, registry, version } = this.#setup;
    const outage = this.#startOutage;
    for (;;) {
      try {
        await database.ensureSchema();
        await database.store.registerWorker.register(database.reads, {
          workerId: this.id,
          name,
          hostname: hostname(),
          pid: process.pid,
          version,
          queues: plan.queues,
          taskNames: [...registry.keys()],
          concurrency: plan.concurrency,
        });
        return outage.over();
      } catch (error) {
        if (!outage.isDatabaseAway(error) || this.#stopping !== undefined) throw error;
        await outage.wait(error);
      }
    }
  }

  async #end(): Promise<void> {
    this.#startOutage.cutShort();
    const life = await this.#starting?.catch(() => undefined); // start() has reported it
    if (life === undefined) return this.#setup.onStopped();
    const { plan } = this.#setup;
    this.#log.info({ running: life.loop.held.running.size }, "worker stops");
    life.loop.drain();
    await Promise.all([life.maintenance.stop(), this.#setState("stopping")]);
    const over = new AbortController();
    const done = life.done.catch(() => undefined).finally(() => over.abort()); // start() has reported it
    await pause(plan.shutdownGraceMs, AbortSignal.any([over.signal, this.#hurry.signal]));
    if (!over.signal.aborted) await this.#giveBack(life.loop, over.signal);
    await done;
    // Until here: what runs is held, and can be cancelled, however long the grace is.
    life.closeEars();
    await Promise.all([life.heartbeat.stop(), life.poll.stop()]);
    life.services.progress.stop();
    await Promise.all([life.loop.close(), this.#setup.threads?.close()]);
    await disposeContext(life.services.context);
    await this.#setState("stopped");
    life.unwatch();
    this.#setup.onStopped();
    this.#setup.hooks.emit.workerStopped?.(this.#event());
    this.#log.info("worker stopped");
  }

  get #name(): string {
    return this.#setup.plan.name ?? `${hostname()}:${process.pid}`;
  }

  #event(): WorkerEvent {
    return { workerId: this.id, name: this.#name, queues: this.#setup.plan.queues };
  }

  /** The grace is over: signals abort, and what still runs a second later is given back under its claim. */
  async #giveBack(loop: WorkLoop, over: AbortSignal): Promise<void> {
    for (const run of loop.held.running) run.abort("SHUTDOWN");
    await pause(ABORT_GRACE_MS, over);
    const givenBack = loop.held.requeueRunning();
    // Before the tasks are anybody else's: what was on a thread is stopped there.
    await this.#setup.threads?.close();
    for (const { claimed } of givenBack) {
      this.#log.warn(
        { taskId: claimed.id, task: claimed.name },
        "the task did not stop when it was told to: it is given back, and what it still does is not recorded",
      );
    }
    loop.ring();
    await pause(LAST_WRITE_MS, over);
    loop.giveUp();
  }

  async #setState(state: "stopping" | "stopped"): Promise<void> {
    const { store, reads } = this.#setup.database;
    await store.registerWorker.setState(reads, this.id, state).catch((error: unknown) => {
      this.#log.warn({ error: String(error) }, "the worker's state was not written");
    });
  }
}

interface Life {
  readonly loop: WorkLoop;
  readonly services: RunServices;
  readonly done: Promise<void>;
  readonly closeEars: () => void;
  readonly heartbeat: Periodic;
  readonly poll: Periodic;
  readonly maintenance: Periodic;
  readonly unwatch: () => void;
}
