/** Sending from a client's side: checks everything first, then joins the flush that fits. */
import { isContract, type AnyContract } from "../define/task.ts";
import { validate } from "../define/schema.ts";
import type { Config } from "../domain/config.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import type { Logger } from "../domain/logger.ts";
import { article } from "../domain/names.ts";
import {
  composeTask,
  inputProblems,
  type OutgoingTask,
  type TaskOptions,
} from "../engine/compose-task.ts";
import type { Database } from "../engine/database.ts";
import { sendBulk, sendInTransaction, sendOnce, sendTogether } from "../engine/send-tasks.ts";
import { WorkerWaker } from "../engine/wake-workers.ts";
import { NaturalBatcher } from "../runtime/natural-batcher.ts";
import { OneAtATime } from "../runtime/one-at-a-time.ts";
import { joinTransaction, type CallersTransaction } from "../store/transaction.ts";

export interface SendOptions extends TaskOptions {
  /** Joins the caller's transaction: a `pg` client inside one, or anything with its `query(text, values)`. */
  readonly tx?: CallersTransaction;
}

const MOST_TOGETHER = 1_000;

export class Sender {
  readonly #database: Database;
  readonly #config: Config;
  readonly #log: Logger;
  readonly #waker: WorkerWaker;
  readonly #plain: NaturalBatcher<OutgoingTask, string>;
  readonly #guarded: NaturalBatcher<OutgoingTask, string>;
  readonly #bulk = new OneAtATime();
  readonly #warned = new Set<string>();

  constructor(database: Database, config: Config, log: Logger) {
    this.#database = database;
    this.#config = config;
    this.#log = log;
    this.#waker = new WorkerWaker(database.store, log);
    this.#plain = new NaturalBatcher(
      (tasks) => sendTogether(database, this.#waker, tasks),
      MOST_TOGETHER,
    );
    this.#guarded = new NaturalBatcher(
      (tasks) => sendOnce(database, this.#waker, tasks),
      MOST_TOGETHER,
    );
  }

  /** Returns the id of the task: its own, or of the one that has its key. */
  async send(task: AnyContract, input: unknown, options: SendOptions | undefined): Promise<string> {
    requireContract(task);
    const outgoing = await this.#compose(task, input, options);
    if (options?.tx !== undefined) {
      const [id] = await sendInTransaction(this.#database, joinTransaction(options.tx), [outgoing]);
      return id ?? outgoing.id;
    }
    return (outgoing.mayExist ? this.#guarded : this.#plain).add(outgoing);
  }

  /** All or none. Every item is checked before the first is sent, and every problem is reported. */
  async sendMany(
    task: AnyContract,
    items: readonly { readonly input: unknown; readonly options: TaskOptions | undefined }[],
    tx: CallersTransaction | undefined,
  ): Promise<string[]> {
    requireContract(task);
    const problems: Problem[] = [];
    const outgoing: OutgoingTask[] = [];
    for (const [index, { input, options }] of items.entries()) {
      try {
        if (options !== undefined && Object.hasOwn(options, "tx")) {
          problems.push({
            path: `items[${index}].options.tx`,
            message: "expected tx beside the items, because all of them are sent together",
          });
        }
        outgoing.push(await this.#compose(task, input, options));
      } catch (error) {
        if (!(error instanceof PosthasteError)) throw error;
        if (error.code !== "VALIDATION_FAILED") {
          throw new PosthasteError(error.code, `items[${index}]: ${error.message}`);
        }
        problems.push(
          ...error.problems.map(({ path, message }) => ({
            path: `items[${index}].${path}`,
            message,
          })),
        );
        if (problems.length >= MOST_PROBLEMS) break;
      }
    }
    if (problems.length > 0) {
      throw PosthasteError.of("VALIDATION_FAILED", `no task "${task.name}" was sent`, problems);
    }
    if (outgoing.length === 0) return [];
    if (tx !== undefined) return sendInTransaction(this.#database, joinTransaction(tx), outgoing);
    return this.#bulk.run(() => sendBulk(this.#database, this.#waker, outgoing));
  }

  async close(): Promise<void> {
    await Promise.all([
      this.#plain.idle(),
      this.#guarded.idle(),
      this.#bulk.run(async () => undefined),
    ]);
    await this.#waker.flush();
  }

  async #compose(
    task: AnyContract,
    input: unknown,
    options: TaskOptions | undefined,
  ): Promise<OutgoingTask> {
    const checking = validate(task.input, input);
    const checked = checking instanceof Promise ? await checking : checking;
    if (!checked.ok) {
      const problems = inputProblems(checked.problems);
      throw PosthasteError.of("VALIDATION_FAILED", `task "${task.name}" was not sent`, problems);
    }
    // The raw value is stored: transforms run once, in the worker.
    const outgoing = composeTask(task, input, options, this.#config);
    this.#warnIfLarge(outgoing);
    return outgoing;
  }

  #warnIfLarge({ name, inputBytes }: OutgoingTask): void {
    const { warnBytes } = this.#config.payload;
    if (warnBytes === null || inputBytes <= warnBytes || this.#warned.has(name)) return;
    this.#warned.add(name);
    this.#log.warn(
      { task: name, bytes: inputBytes, warnBytes },
      "a large input was sent; said once per task",
    );
  }
}

const MOST_PROBLEMS = 20;

/** An import cycle leaves undefined behind, and a plain object would be sent under a name that no worker knows. */
function requireContract(task: unknown): void {
  if (isContract(task)) return;
  throw PosthasteError.of("VALIDATION_FAILED", "nothing was sent", [
    { path: "task", message: `expected what defineTask() returns, found ${article(task)}` },
  ]);
}
