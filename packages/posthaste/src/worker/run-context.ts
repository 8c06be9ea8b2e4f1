/** The `ctx` of one body. A class, so that the signal and the logger are made when asked for: most bodies look at neither. */
import type { CallersTransaction, SendOptions } from "../define/send-options.ts";
import type { AnyContract, SendArguments } from "../define/task.ts";
import type { TaskContext, TaskTransaction, WorkerContext } from "../define/task-context.ts";
import type { TaskHandle } from "../define/task-handle.ts";
import type { NodeContext } from "../define/node-context.ts";
import type { Json } from "../domain/json.ts";
import { encodeJson } from "../domain/json.ts";
import type { Logger } from "../domain/logger.ts";
import type { Database } from "../engine/database.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import type { ClaimedNode } from "../store/queries/claimed-node.ts";
import { nodeContext } from "./node-context.ts";

/** The most that a task may say about how far it is. */
const LONGEST_PROGRESS = 65_536;

/** What is known of an attempt before its body begins, in the words of its claim. */
export type ClaimFacts = Pick<
  ClaimedTask,
  "id" | "claimId" | "name" | "queue" | "attemptNo" | "node"
>;

/** Whatever answers for a body: its run, or the thread that it runs on. */
export interface BodyHost {
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly context: WorkerContext;
  readonly database: Database;
  /** `value` is JSON text. */
  report(value: string): void;
  transaction<Value>(run: (tx: TaskTransaction) => Promise<Value>): Promise<Value>;
  complete(value: unknown, tx: CallersTransaction): Promise<void>;
  send(task: AnyContract, input: unknown, options: SendOptions | undefined): Promise<TaskHandle>;
}

export class RunContext implements TaskContext {
  readonly taskId: string;
  readonly name: string;
  readonly queue: string;
  readonly attempt: number;
  readonly workerId: string;
  readonly claimId: string;
  readonly #host: BodyHost;
  readonly #node: ClaimedNode | undefined;
  #log: Logger | undefined;
  #workflow: NodeContext | undefined;

  constructor(
    { id, claimId, name, queue, attemptNo, node }: ClaimFacts,
    workerId: string,
    host: BodyHost,
  ) {
    this.taskId = id;
    this.name = name;
    this.queue = queue;
    this.attempt = attemptNo;
    this.workerId = workerId;
    this.claimId = claimId;
    this.#host = host;
    this.#node = node;
  }

  get workflow(): NodeContext | undefined {
    if (this.#node === undefined) return undefined;
    return (this.#workflow ??= nodeContext(this.#host.database, this.#node));
  }

  get signal(): AbortSignal {
    return this.#host.signal;
  }

  get log(): Logger {
    return (this.#log ??= this.#host.log);
  }

  get context(): WorkerContext {
    return this.#host.context;
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
    this.#host.report(encoded.text);
  }

  transaction<Value>(run: (tx: TaskTransaction) => Promise<Value>): Promise<Value> {
    return this.#host.transaction(run);
  }

  async complete<Value>(value: Value, { tx }: { readonly tx: CallersTransaction }): Promise<Value> {
    await this.#host.complete(value, tx);
    return value;
  }

  send<T extends AnyContract>(
    task: T,
    ...[input, options]: SendArguments<T, SendOptions>
  ): Promise<TaskHandle<T>> {
    return this.#host.send(task, input, options) as Promise<TaskHandle<T>>;
  }
}
