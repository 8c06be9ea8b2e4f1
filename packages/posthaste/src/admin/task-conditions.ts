/** Reads the conditions by which an operator chooses tasks. */
import { PosthasteError } from "../domain/errors.ts";
import type { OptionReader } from "../domain/option-reader.ts";
import {
  isTerminal,
  TaskStatus,
  type OpenStatus,
  type RetryableStatus,
} from "../domain/task-lifecycle.ts";
import { isUuid } from "../sending/uuid-v7.ts";
import type { TaskConditions } from "../store/queries/operate/list-tasks.ts";

/** Which tasks. What is left out is any. */
export interface TaskFilter {
  readonly name?: string;
  readonly queue?: string;
  /** The `key` that it was sent with; needs `name`. */
  readonly key?: string;
  /** Id or name of the worker that has claimed it, or claimed it last. */
  readonly worker?: string;
  /** Ended tasks: that ended then or later. Others: that were sent then or later. */
  readonly since?: Date;
  /** Ended tasks: that ended before. Others: that were sent before. */
  readonly until?: Date;
}

export interface EndedFilter extends TaskFilter {
  /** Default: all three. COMPLETED tasks never run again. */
  readonly status?: RetryableStatus;
  readonly errorCode?: string;
}

export interface OpenFilter extends TaskFilter {
  /** Default: all three. */
  readonly status?: OpenStatus;
}

export const conditionNames = ["name", "queue", "key", "worker", "since", "until"] as const;

export const openStatuses = Object.values(TaskStatus).filter((status) => !isTerminal(status));

export function readConditions(options: OptionReader): TaskConditions {
  const since = options.instant("since");
  const until = options.instant("until");
  const conditions = {
    name: options.text("name"),
    queue: options.text("queue"),
    key: options.text("key"),
    worker: idOrName(options.text("worker")),
    since,
    until,
  };
  if (conditions.key !== undefined && conditions.name === undefined)
    options.complain("key", "expected a name too: a key belongs to the tasks of one name");
  if (since !== undefined && until !== undefined && since >= until)
    options.complain("until", "expected a time after since");
  return conditions;
}

function idOrName(worker: string | undefined): string | undefined {
  const id = worker?.toLowerCase();
  return isUuid(id) ? id : worker;
}

export function refuse({ problems }: OptionReader, what: string): void {
  if (problems.length > 0) throw PosthasteError.of("VALIDATION_FAILED", what, problems);
}
