/** The `ctx` of one handler. A class, so that signal and logger are made on first use: most handlers use neither. */
import type { Database } from "../../database/database.ts";
import type { NodeContext } from "../../define/node-context.ts";
import type { CallersTransaction, SendOptions } from "../../define/send-options.ts";
import type { TaskContext, TaskTransaction, WorkerContext } from "../../define/task-context.ts";
import type { TaskHandle } from "../../define/task-handle.ts";
import type { AnyContract, SendArguments } from "../../define/task.ts";
import { type Json, encodeJson } from "../../domain/json.ts";
import type { Logger } from "../../domain/logger.ts";
import type { ClaimedNode } from "../../store/queries/claim/claim-rows.ts";
import type { ClaimedTask } from "../../store/queries/claim/claim-tasks.ts";
import type { Completion } from "./completion.ts";
import { nodeContext } from "./node-context.ts";

/** The largest progress report. */
const LONGEST_PROGRESS = 65_536;

/** The facts of an attempt that its claim carries. */
export type ClaimFacts = Pick<
  ClaimedTask,
  "id" | "claimId" | "name" | "queue" | "attemptNo" | "node"
>;

/** Serves a handler: its attempt, or the thread that it runs on. */
export interface HandlerHost {
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly context: WorkerContext;
  readonly database: Database;
  /** `value` is JSON text. */
  report(value: string): void;
  /** Throws where there is no handler. */
  readonly completion: Completion;
  send(task: AnyContract, input: unknown, options: SendOptions | undefined): Promise<TaskHandle>;
}

export class AttemptContext implements TaskContext {
  readonly taskId: string;
  readonly name: string;
  readonly queue: string;
  readonly attempt: number;
  readonly workerId: string;
  readonly claimId: string;
  readonly #host: HandlerHost;
  readonly #node: ClaimedNode | undefined;
  #log: Logger | undefined;
  #workflow: NodeContext | undefined;

  constructor(
    { id, claimId, name, queue, attemptNo, node }: ClaimFacts,
    workerId: string,
    host: HandlerHost,
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
      const texts = encoded.problems.map(({ path, message }) => `${path} ${message}`.trim());
      throw new TypeError(
        encoded.tooLarge === undefined
          ? `ctx.progress() takes what JSON can hold: ${texts.join("; ")}`
          : `ctx.progress() takes at most ${LONGEST_PROGRESS} bytes of JSON, found ${encoded.tooLarge}`,
      );
    }
    this.#host.report(encoded.text);
  }

  transaction<Value>(run: (tx: TaskTransaction) => Promise<Value>): Promise<Value> {
    return this.#host.completion.transaction(run);
  }

  async complete<Value>(value: Value, { tx }: { readonly tx: CallersTransaction }): Promise<Value> {
    await this.#host.completion.complete(value, tx);
    return value;
  }

  send<T extends AnyContract>(
    task: T,
    ...[input, options]: SendArguments<T, SendOptions>
  ): Promise<TaskHandle<T>> {
    return this.#host.send(task, input, options) as Promise<TaskHandle<T>>;
  }
}
