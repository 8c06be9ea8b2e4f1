/** The flags by which operators choose tasks, for lists and for actions on several tasks. */
import { InvalidArgumentError, Option, type Command } from "commander";
import type { TaskFilter } from "../admin/admin.ts";
import { durationMs } from "./option-values.ts";
import { UsageError } from "./usage-error.ts";

export interface TaskFilterFlags {
  readonly name?: string;
  readonly queue?: string;
  readonly key?: string;
  readonly worker?: string;
  readonly since?: Date;
  readonly until?: Date;
}

export function addTaskFilter(command: Command): Command {
  return command
    .option("--name <name>", "tasks of this name")
    .option("-q, --queue <queue>", "tasks of this queue")
    .option("--key <key>", "the task with this key; needs --name")
    .option("--worker <id or name>", "tasks that this worker has claimed, or claimed last")
    .addOption(
      new Option(
        "--since <time>",
        "ended then or later (if it has not ended: sent): 2h, or a date",
      ).argParser(moment),
    )
    .addOption(
      new Option("--until <time>", "ended before (or sent): 2h, or a date").argParser(moment),
    );
}

/** `2h`: two hours ago; or a date as Date reads it. */
export function moment(text: string): Date {
  if (/^\d+(\.\d+)?(ms|s|m|h|d)$/.test(text)) return new Date(Date.now() - durationMs(text));
  const date = new Date(text);
  if (Number.isNaN(date.getTime()))
    throw new InvalidArgumentError(
      `expected a duration such as 30m, 2h or 1d, or a date such as 2026-11-19T08:00:00Z, found ${JSON.stringify(text)}`,
    );
  return date;
}

/** A flag that takes one of these words, in either case. */
export function oneOf<Word extends string>(words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const found = words.find((word) => word === text.toUpperCase());
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`expected ${words.join(", ")}, found ${JSON.stringify(text)}`);
  };
}

export function taskFilter({
  name,
  queue,
  key,
  worker,
  since,
  until,
}: TaskFilterFlags): TaskFilter {
  return {
    ...(name !== undefined && { name }),
    ...(queue !== undefined && { queue }),
    ...(key !== undefined && { key }),
    ...(worker !== undefined && { worker }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  };
}

/** An action is about one id, or about the tasks that a filter matches: never about all tasks by mistake. */
export function requireChoice(id: string | undefined, filter: object, isAll: boolean): void {
  const isFiltered = Object.keys(filter).length > 0;
  if (id !== undefined && (isFiltered || isAll))
    throw new UsageError("name an id, or choose tasks by flags, not both");
  if (id === undefined && !isFiltered && !isAll)
    throw new UsageError(
      "name an id, or choose tasks by flags such as --name; --all takes all of them",
    );
}
