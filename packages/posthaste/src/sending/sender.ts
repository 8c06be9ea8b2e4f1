/** Sending from a client's side: checks everything first, then joins the flush that fits. */
import type { Config } from "../config/config.ts";
import { joinCallers } from "../database/callers-transaction.ts";
import type { Database } from "../database/database.ts";
import { mayPass } from "../database/repeat-safely.ts";
import { validate, type MaybePromise, type Validated } from "../define/schema.ts";
import type { CallersTransaction, SendOptions, TaskOptions } from "../define/send-options.ts";
import { isContract, type AnyContract } from "../define/task.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import type { Logger } from "../domain/logger.ts";
import { article } from "../domain/names.ts";
import type { Emitters } from "../hooks/hook-runner.ts";
import { Coalescer } from "../runtime/coalescer.ts";
import { OneAtATime } from "../runtime/one-at-a-time.ts";
import { nextTurn } from "../runtime/pause.ts";
import type { Claim } from "../store/queries/claim/stored-claims.ts";
import { composeTask, inputProblems, type OutgoingTask } from "./compose-task.ts";
import { sendChildInTransaction, sendChildren, type ChildTask } from "./send-children.ts";
import { sendStream } from "./send-stream.ts";
import { CHUNK_TASKS, sendBulk, sendInTransaction, sendKeyed } from "./send-tasks.ts";
import { LocalWorkers, sendTogether } from "./send-together.ts";
import { UnservedQueues } from "./unserved-queues.ts";
import { WorkerWaker } from "./wake-workers.ts";

export interface ManyItem {
  readonly input: unknown;
  readonly options: TaskOptions | undefined;
}

const MOST_TOGETHER = 1_000;

export class Sender {
  readonly #database: Database;
  readonly #config: Config;
  readonly #log: Logger;
  readonly #emit: Emitters;
  readonly #waker: WorkerWaker;
  readonly #plain: Coalescer<OutgoingTask, string>;
  readonly #keyed: Coalescer<OutgoingTask, string>;
  readonly #children: Coalescer<ChildTask, string>;
  readonly #bulk = new OneAtATime();
  readonly #warned = new Set<string>();
  readonly #unserved: UnservedQueues;

  /** Workers of the same app. */
  readonly localWorkers = new LocalWorkers();

  constructor(database: Database, config: Config, log: Logger, emit: Emitters) {
    this.#database = database;
    this.#config = config;
    this.#log = log;
    this.#emit = emit;
    this.#waker = new WorkerWaker(database.store, log);
    this.#unserved = new UnservedQueues({
      findUnserved: (queues) => database.store.queuesInUse.unserved(database.reads, queues),
      log,
    });
    this.#plain = new Coalescer(
      (tasks) =>
        sendTogether({ database, waker: this.#waker, localWorkers: this.localWorkers }, tasks),
      MOST_TOGETHER,
    );
    this.#keyed = new Coalescer((tasks) => sendKeyed(database, this.#waker, tasks), MOST_TOGETHER);
    this.#children = new Coalescer(
      (children) => sendChildren(database, this.#waker, children),
      MOST_TOGETHER,
    );
  }

  /**
   * Returns the id of the task: its own, or of the task that has its key. A task sent by a running task is never started directly: a
   * worker that splits its work would otherwise do all of it itself.
   */
  async send(
    task: AnyContract,
    input: unknown,
    options: SendOptions | undefined,
    isInsideTask: boolean,
  ): Promise<string> {
    requireContract(task);
    const composed = await this.compose(task, input, options);
    const outgoing = isInsideTask ? { ...composed, mayStartHere: false } : composed;
    if (options?.tx !== undefined) {
      const tx = await joinCallers(this.#database, options.tx);
      const [id = outgoing.id] = await sendInTransaction(this.#database, tx, [outgoing]);
      return this.#sent(outgoing, id);
    }
    const id = await (outgoing.mayExist ? this.#keyed : this.#plain).add(outgoing);
    return this.#sent(outgoing, id);
  }

  /** In the name of a running task: nothing is sent if its claim was lost. */
  async sendAsChild(
    parent: Claim,
    task: AnyContract,
    input: unknown,
    options: SendOptions | undefined,
  ): Promise<string> {
    requireContract(task);
    const child = { parent, task: await this.compose(task, input, options) };
    if (options?.tx === undefined) return this.#sent(child.task, await this.#children.add(child));
    const tx = await joinCallers(this.#database, options.tx);
    return this.#sent(child.task, await sendChildInTransaction(this.#database, tx, child));
  }

  /** All or none, and every problem is reported. */
  async sendMany(
    task: AnyContract,
    items: readonly ManyItem[],
    tx: CallersTransaction | undefined,
  ): Promise<string[]> {
    requireContract(task);
    const parts = this.#composeAll(task, items);
    const mayExist = items.some(
      ({ options }) => options?.key !== undefined || options?.id !== undefined,
    );
    if (tx === undefined && !mayExist && items.length > CHUNK_TASKS) {
      return this.#bulk.run(() => this.#stream(parts));
    }
    const outgoing: OutgoingTask[] = [];
    for await (const part of parts) outgoing.push(...part);
    if (outgoing.length === 0) return [];
    const ids =
      tx === undefined
        ? await this.#bulk.run(() => sendBulk(this.#database, this.#waker, outgoing))
        : await sendInTransaction(this.#database, await joinCallers(this.#database, tx), outgoing);
    return this.#sentAll(outgoing, ids);
  }

  /** Inserts one part while the next is being composed. */
  async #stream(parts: AsyncGenerator<readonly OutgoingTask[]>): Promise<string[]> {
    const sent: OutgoingTask[] = [];
    const keep = async function* (): AsyncGenerator<readonly OutgoingTask[]> {
      for await (const part of parts) {
        for (const outgoing of part) sent.push(outgoing);
        yield part;
        await nextTurn(); // a hundred thousand tasks must not hold up everything else in this process
      }
    };
    try {
      await sendStream(this.#database, this.#waker, keep());
    } catch (error) {
      if (!mayPass(error)) throw error;
      for await (const part of parts) for (const outgoing of part) sent.push(outgoing);
      await sendBulk(this.#database, this.#waker, sent, true);
    }
    return this.#sentAll(
      sent,
      sent.map(({ id }) => id),
    );
  }

  /** A task that stood already under its key was not sent now. */
  #sent(task: OutgoingTask, storedId: string): string {
    const { id, name, queue } = task;
    if (id !== storedId) return storedId;
    this.#unserved.sent(task);
    this.#emit.taskSent?.({ id, name, queue });
    return storedId;
  }

  #sentAll(tasks: readonly OutgoingTask[], ids: string[]): string[] {
    if (this.#emit.taskSent === undefined) for (const task of tasks) this.#unserved.sent(task);
    else for (const [nth, task] of tasks.entries()) this.#sent(task, ids[nth] ?? task.id);
    return ids;
  }

  /** In parts, as they are inserted. Throws at the end, with every problem of every item. */
  async *#composeAll(
    task: AnyContract,
    items: readonly ManyItem[],
  ): AsyncGenerator<readonly OutgoingTask[]> {
    const problems: Problem[] = [];
    let part: OutgoingTask[] = [];
    for (const [index, item] of items.entries()) {
      try {
        refuseOwnTransaction(item, index, problems);
        const composing = this.compose(task, item.input, item.options);
        part.push(composing instanceof Promise ? await composing : composing);
      } catch (error) {
        problems.push(...itemProblems(error, index));
        if (problems.length >= MOST_PROBLEMS) break;
      }
      if (part.length >= CHUNK_TASKS) {
        if (problems.length === 0) yield part;
        part = [];
      }
    }
    if (problems.length > 0) {
      throw PosthasteError.of("VALIDATION_FAILED", `no task "${task.name}" was sent`, problems);
    }
    if (part.length > 0) yield part;
  }

  async close(): Promise<void> {
    await Promise.all([
      this.#plain.idle(),
      this.#keyed.idle(),
      this.#children.idle(),
      this.#bulk.run(async () => undefined),
    ]);
    await Promise.all([this.#waker.flush(), this.#unserved.close()]);
  }

  /** Tasks that were stored by another way, and committed. */
  stored(tasks: readonly OutgoingTask[]): void {
    for (const task of tasks) this.#sent(task, task.id);
  }

  /** At once where the schema answers at once: a promise per task would be paid a hundred thousand times. */
  compose(
    task: AnyContract,
    input: unknown,
    options: TaskOptions | undefined,
  ): MaybePromise<OutgoingTask> {
    const checking = validate(task.input, input);
    return checking instanceof Promise
      ? checking.then((checked) => this.#composeChecked(task, input, options, checked))
      : this.#composeChecked(task, input, options, checking);
  }

  #composeChecked(
    task: AnyContract,
    input: unknown,
    options: TaskOptions | undefined,
    checked: Validated,
  ): OutgoingTask {
    if (!checked.ok) {
      const problems = inputProblems(checked.problems);
      throw PosthasteError.of("VALIDATION_FAILED", `task "${task.name}" was not sent`, problems);
    }
    // The raw value is stored: transforms run once, in the worker.
    const outgoing = composeTask(task, input, options, this.#config);
    this.#warnIfLarge(outgoing);
    return outgoing;
  }

  #warnIfLarge({ id: task, name, inputBytes }: OutgoingTask): void {
    const { warnBytes } = this.#config.payload;
    if (warnBytes === null || inputBytes <= warnBytes || this.#warned.has(name)) return;
    this.#warned.add(name);
    this.#log.warn(
      { task, name, bytes: inputBytes, warnBytes },
      "task input is large; logged once per task name",
    );
  }
}

const MOST_PROBLEMS = 20;

/** An import cycle leaves undefined behind, and a plain object would be sent under a name that no worker knows. */
function requireContract(task: unknown): void {
  if (isContract(task)) return;
  throw PosthasteError.of("VALIDATION_FAILED", "nothing was sent", [
    { path: "task", message: `expected a task from defineTask(), found ${article(task)}` },
  ]);
}

function refuseOwnTransaction({ options }: ManyItem, index: number, problems: Problem[]): void {
  if (options === undefined || !Object.hasOwn(options, "tx")) return;
  const message = "expected tx beside the items, because all of them are sent together";
  problems.push({ path: `items[${index}].options.tx`, message });
}

/** The problems of one item, by their path in the list. Any other error is thrown with the number of the item. */
function itemProblems(error: unknown, index: number): Problem[] {
  if (!(error instanceof PosthasteError)) throw error;
  if (error.code !== "VALIDATION_FAILED") {
    throw new PosthasteError(error.code, `items[${index}]: ${error.message}`);
  }
  return error.problems.map(({ path, message }) => ({ path: `items[${index}].${path}`, message }));
}
