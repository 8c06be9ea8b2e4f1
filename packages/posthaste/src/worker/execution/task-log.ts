/**
 * The log lines of a worker about its tasks: failed, retried, expired, cancelled; at `debug` also started and completed. When
 * thousands fail at once, it writes some lines and a count for each task and code. A task that succeeds costs nothing below `debug`.
 */
import type { RunEndEvent } from "../../define/hooks.ts";
import type { Logger } from "../../domain/logger.ts";
import type { TaskFailure } from "../../domain/result.ts";
import { TaskStatus } from "../../domain/task-lifecycle.ts";
import { BurstCounter } from "../../runtime/burst-counter.ts";
import type { ClaimedTask } from "../../store/queries/claim/claim-tasks.ts";
import type { DescribedTask } from "../../store/queries/read/describe-tasks.ts";
import type { EndedTask } from "./ended-task.ts";

const LONGEST_MESSAGE = 2_000;

interface Line {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  /** The text for tasks that were only counted. */
  readonly many: string;
  readonly fields: LineFields;
}

interface LineFields {
  readonly task: string;
  readonly name: string;
  readonly queue: string;
  readonly code?: string;
  readonly [more: string]: unknown;
}

export class TaskLog {
  /** Whether started and completed tasks have a line. */
  readonly writesAll: boolean;
  readonly #log: Logger;
  readonly #burst: BurstCounter<Line>;

  constructor(log: Logger, writesAll: boolean) {
    this.#log = log;
    this.writesAll = writesAll;
    this.#burst = new BurstCounter(({ level, many, fields }, count) => {
      const { task: lastTask, name, code } = fields;
      log[level]({ name, ...(code !== undefined && { code }), count, lastTask }, many);
    });
  }

  began({ id: task, name, queue, attemptNo: attempt }: ClaimedTask): void {
    if (this.writesAll) this.#log.debug({ task, name, queue, attempt }, "task started");
  }

  completed(event: RunEndEvent): void {
    if (this.writesAll) this.#log.debug(factsOf(event), "task completed");
  }

  /** Logs a written end with the status that its task has now. */
  ended({ edge, event, error, delayMs = 0 }: EndedTask, status: string): void {
    if (event === undefined) return; // it never started: released, or cancelled before
    const facts = factsOf(event);
    if (status === TaskStatus.COMPLETED) this.completed(event);
    else if (status === TaskStatus.FAILED) {
      this.#write({
        level: "error",
        message: "task failed",
        many: "more tasks failed",
        fields: { ...facts, ...errorFields(error) },
      });
    } else if (status === TaskStatus.CANCELLED) {
      this.#write({
        level: "info",
        message: "task cancelled",
        many: "more tasks cancelled",
        fields: facts,
      });
    } else if (edge === "retry") {
      this.#write({
        level: "warn",
        message: "task failed; retrying",
        many: "more tasks failed; retrying",
        fields: { ...facts, ...errorFields(error), retryInMs: Math.round(delayMs) },
      });
    }
  }

  /** Logs tasks that were cancelled before they started. */
  cancelled(tasks: readonly DescribedTask[]): void {
    for (const { id: task, name, queue } of tasks)
      this.#write({
        level: "info",
        message: "task cancelled",
        many: "more tasks cancelled",
        fields: { task, name, queue },
      });
  }

  expired(tasks: readonly DescribedTask[]): void {
    for (const { id: task, name, queue } of tasks)
      this.#write({
        level: "warn",
        message: "task expired; no worker started it before its goodUntil",
        many: "more tasks expired",
        fields: { task, name, queue },
      });
  }

  /** Logs the counts so far: the worker stops. */
  flush(): void {
    this.#burst.flush();
  }

  #write(line: Line): void {
    const { level, message, fields } = line;
    const kind = `${message}/${fields.name}/${fields.code ?? ""}`;
    if (this.#burst.passes(kind, line)) this.#log[level](fields, message);
  }
}

function factsOf({ id, name, queue, attempt, durationMs }: RunEndEvent) {
  return { task: id, name, queue, attempt, durationMs: Math.round(durationMs) };
}

/** The error as it was stored. */
function errorFields(stored = "null"): { readonly code: string; readonly error: string } {
  const { code, message } = JSON.parse(stored) as TaskFailure;
  return { code, error: message.slice(0, LONGEST_MESSAGE) };
}
