/** Runs the tasks of a test until there is nothing left to do, and tells what became of them. */
import type { Posthaste } from "../app/posthaste.ts";
import { PosthasteError } from "../domain/errors.ts";
import type { Json } from "../domain/json.ts";
import { OptionReader } from "../domain/option-reader.ts";
import type { TaskFailure } from "../domain/result.ts";
import type { TaskStatus } from "../domain/task-lifecycle.ts";
import { expireTasks } from "../recovery/expire-tasks.ts";
import { pause } from "../runtime/pause.ts";
import type { Link } from "../store/link.ts";
import type { TouchedTask, UnfinishedTask } from "../store/queries/worker/watch-tasks.ts";
import type { Store } from "../store/store.ts";
import type { Worker } from "../worker/worker.ts";

export interface IdleOptions {
  /** How long it may take. Default 4,000: less than most test runners give a test, so that our error is the one you see. */
  readonly timeoutMs?: number;
  /** How many tasks run at once. Default 10; with 1 they run in the order of their line. */
  readonly concurrency?: number;
}

/** A task that ran, or ended without running. */
export interface RanTask {
  /** The task's name. */
  readonly task: string;
  readonly id: string;
  /** PENDING: it failed and waits for its retry. */
  readonly status: TaskStatus;
  /** Handlers that ran so far, in earlier calls too. */
  readonly attempts: number;
  /** The value of the handler, if the task completed. */
  readonly result?: Json;
  /** The error of the task, or of its last attempt. */
  readonly error?: TaskFailure;
}

export interface IdleRunnerParts {
  readonly app: Posthaste;
  readonly store: Store;
  readonly db: Link;
  /** Queues that are served from the start; others when something is due in them. */
  readonly queues: readonly string[];
}

const LOOK_EVERY_MS = 5;
const EXPIRE_BATCH = 1_000;
const MOST_SHOWN = 10;

export class IdleRunner {
  readonly #parts: IdleRunnerParts;
  /** Workers of a call that ran out of time: they may take a second to give their tasks back. */
  #ending: Promise<unknown> = Promise.resolve();

  constructor(parts: IdleRunnerParts) {
    this.#parts = parts;
  }

  async run(given: IdleOptions | undefined): Promise<RanTask[]> {
    const options = readOptions(given);
    await this.#ending;
    const { store, db } = this.#parts;
    const since = await store.watchTasks.now(db);
    const workers: Worker[] = [];
    try {
      await this.#work(workers, options);
    } catch (error) {
      this.#ending = Promise.all(workers.map(stopNow));
      throw error;
    }
    await Promise.all(workers.map((worker) => worker.stop()));
    return (await store.watchTasks.touchedSince(db, since)).map(ranTask);
  }

  /** Returns when nothing due is left and nothing runs. */
  async #work(workers: Worker[], { timeoutMs, concurrency }: Required<IdleOptions>): Promise<void> {
    const { app, store, db, queues } = this.#parts;
    let deadline = Infinity;
    const served = new Set<string>();
    for (;;) {
      await this.#expireOverdue();
      const left = await store.watchTasks.unfinished(db);
      if (left.length === 0) return;
      if (performance.now() > deadline) throw notIdle(left, timeoutMs);
      const wanted = [...(served.size === 0 ? queues : []), ...left.map(({ queue }) => queue)];
      const missing = [...new Set(wanted)].filter((queue) => !served.has(queue));
      if (missing.length > 0) {
        const worker = app.worker({
          queues: missing,
          concurrency,
          onBlocked: "report",
          scheduler: false, // a test triggers its schedules
        });
        workers.push(worker);
        await worker.start();
        // The start of the worker does not count against the limit.
        if (served.size === 0) deadline = performance.now() + timeoutMs;
        for (const queue of missing) served.add(queue);
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  /** The maintenance pass that a worker runs every half minute. */
  async #expireOverdue(): Promise<void> {
    const { store, db } = this.#parts;
    for (;;) {
      const ids = await expireTasks(store, await db.connection(), EXPIRE_BATCH);
      if (ids.length < EXPIRE_BATCH) return;
    }
  }
}

function stopNow(worker: Worker): Promise<void> {
  const stopped = worker.stop();
  worker.hurry();
  return stopped;
}

function readOptions(given: IdleOptions | undefined): Required<IdleOptions> {
  const options = new OptionReader("options", given, ["timeoutMs", "concurrency"]);
  const read = {
    timeoutMs: options.integer("timeoutMs", { min: 1, max: 86_400_000 }, 4_000),
    concurrency: options.integer("concurrency", { min: 1, max: 10_000 }, 10),
  };
  if (options.problems.length === 0) return read;
  throw PosthasteError.of("VALIDATION_FAILED", "nothing was run", options.problems);
}

function ranTask({ id, name, status, attemptNo, result, error }: TouchedTask): RanTask {
  return {
    task: name,
    id,
    status: status as TaskStatus,
    attempts: attemptNo,
    ...(result === null ? {} : { result: JSON.parse(result) as Json }),
    ...(error === null ? {} : { error: JSON.parse(error) as TaskFailure }),
  };
}

function notIdle(left: readonly UnfinishedTask[], timeoutMs: number): PosthasteError {
  const shown = left
    .slice(0, MOST_SHOWN)
    .map(
      ({ id, name, queue, status, attemptNo }) =>
        `\n  - "${name}" is ${status} in queue "${queue}", attempt ${attemptNo}: ${id}`,
    );
  const more = left.length > MOST_SHOWN ? `\n  and ${left.length - MOST_SHOWN} more` : "";
  return new PosthasteError(
    "WAIT_TIMEOUT",
    `tasks are still unfinished after ${timeoutMs} ms, ${left.length} left:${shown.join("")}${more}\n` +
      "Look for a task that waits forever or sends itself again; otherwise raise timeoutMs.",
  );
}
