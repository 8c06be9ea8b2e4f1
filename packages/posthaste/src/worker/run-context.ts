/** The `ctx` of one body. A class, so that the signal and the logger are made when asked for: most bodies look at neither. */
import type { CallersTransaction, SendOptions } from "../define/send-options.ts";
import type { AnyContract, SendArguments } from "../define/task.ts";
import type { TaskContext, TaskTransaction, WorkerContext } from "../define/task-context.ts";
import type { TaskHandle } from "../define/task-handle.ts";
import type { Json } from "../domain/json.ts";
import { encodeJson } from "../domain/json.ts";
import type { Logger } from "../domain/logger.ts";
import type { TaskRun } from "./task-run.ts";

/** The most that a task may say about how far it is. */
const LONGEST_PROGRESS = 65_536;

export class RunContext implements TaskContext {
  readonly taskId: string;
  readonly name: string;
  readonly queue: string;
  readonly attempt: number;
  readonly workerId: string;
  readonly claimId: string;
  readonly #run: TaskRun;
  #log: Logger | undefined;

  constructor(run: TaskRun) {
    const { id, claimId, name, queue, runNo } = run.claimed;
    this.taskId = id;
    this.name = name;
    this.queue = queue;
    this.attempt = runNo;
    this.workerId = run.services.workerId;
    this.claimId = claimId;
    this.#run = run;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get log(): Logger {
    return (this.#log ??= this.#run.log);
  }

  get context(): WorkerContext {
    return this.#run.services.context;
  }

  progress(value: Json): void {
    const encoded = encodeJson(value, { rejectBytes: LONGEST_PROGRESS });
    if (!encoded.ok) {
      const said = encoded.problems.map(({ path, message }) => `${path} ${message}`.trim());
      throw new TypeError(
        encoded.tooLarge === undefined
          ? `ctx.progress() takes what JSON can hold: ${said.join("; ")}`
          : `ctx.progress() takes at most ${LONGEST_PROGRESS} bytes of JSON, found ${encoded.tooLarge}`,
      );
    }
    this.#run.report(encoded.text);
  }

  transaction<Value>(run: (tx: TaskTransaction) => Promise<Value>): Promise<Value> {
    return this.#run.transaction(run);
  }

  async complete<Value>(value: Value, { tx }: { readonly tx: CallersTransaction }): Promise<Value> {
    await this.#run.complete(value, tx);
    return value;
  }

  send<T extends AnyContract>(
    task: T,
    ...[input, options]: SendArguments<T, SendOptions>
  ): Promise<TaskHandle<T>> {
    return this.#run.send(task, input, options) as Promise<TaskHandle<T>>;
  }
}
