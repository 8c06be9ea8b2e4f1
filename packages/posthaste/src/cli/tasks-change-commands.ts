/** Commands that change tasks: one by its id, or all that match a filter. */
import { Option, type Command } from "commander";
import type { ChangedTasks, EndedFilter, OpenFilter, PaceOptions } from "../admin/admin.ts";
import type { Posthaste } from "../app/posthaste.ts";
import type { Json } from "../domain/json.ts";
import { RETRYABLE_STATES, TaskStatus, isTerminal } from "../domain/task-lifecycle.ts";
import { counted } from "./counted.ts";
import { answer, operatorCommand, withApp, type OperatorOptions } from "./operator-command.ts";
import { durationMs, jsonValue, wholeNumber } from "./option-values.ts";
import { withProgress } from "./progress-line.ts";
import {
  addTaskFilter,
  oneOf,
  requireChoice,
  taskFilter,
  type TaskFilterFlags,
} from "./task-filter-flags.ts";
import { UsageError } from "./usage-error.ts";

const SOME_ID = "019a9c4e-8d3b-7c10-9a53-0c5a8b1d2e3f";
const OPEN_STATES = Object.values(TaskStatus).filter((status) => !isTerminal(status));

interface PaceFlags {
  readonly maxPerSecond?: number;
  readonly dryRun?: true;
  readonly all?: true;
}

function addPace(command: Command): Command {
  return command
    .option("--all", "all tasks, without a filter")
    .addOption(
      new Option("--max-per-second <n>", "at most so many a second (1 to 100000)").argParser(
        (text) => wholeNumber(text, { min: 1, max: 100_000 }),
      ),
    )
    .option("--dry-run", "only count");
}

interface RetryFlags extends OperatorOptions, TaskFilterFlags, PaceFlags {
  readonly status?: EndedFilter["status"];
  readonly errorCode?: string;
  readonly goodFor?: number;
}

export function retryCommand(): Command {
  const command = operatorCommand("retry", {
    description:
      "run FAILED, CANCELLED or EXPIRED tasks again, under their ids and with their stored input",
    examples: [
      `tasks retry ${SOME_ID}`,
      "tasks retry --name send-mail --error-code SMTP_DOWN --since 1d --dry-run",
      "tasks retry --name send-mail --since 1d --max-per-second 500",
      "tasks retry --status expired --queue mail --good-for 1h",
    ],
  })
    .argument("[id]", "the id of one task")
    .addOption(
      new Option("--status <status>", RETRYABLE_STATES.join(", ").toLowerCase()).argParser(
        oneOf(RETRYABLE_STATES),
      ),
    )
    .option("--error-code <code>", "only ends with this code")
    .addOption(
      new Option(
        "--good-for <duration>",
        "the new deadline, from now; EXPIRED tasks need one",
      ).argParser(durationMs),
    );
  return addPace(addTaskFilter(command)).action((id: string | undefined, options: RetryFlags) =>
    withApp(options, async (app, signal) => {
      const { status, errorCode, goodFor, all = false } = options;
      const filter: EndedFilter = {
        ...taskFilter(options),
        ...(status !== undefined && { status }),
        ...(errorCode !== undefined && { errorCode }),
      };
      requireChoice(id, filter, all);
      const deadline = goodFor === undefined ? {} : { goodUntil: new Date(Date.now() + goodFor) };
      if (id === undefined)
        return changeSeveral(options, "retried", (pace) =>
          app.admin.tasks.retry(filter, { ...deadline, ...pace, signal }),
        );
      refusePace(options);
      const outcome = await app.admin.tasks.retry(id, deadline);
      answer(options, { id, outcome }, () =>
        outcome === "retried"
          ? `task ${id} runs again`
          : `task ${id} has not ended, or another operator was first; nothing was changed`,
      );
    }),
  );
}

interface CancelFlags extends OperatorOptions, TaskFilterFlags, PaceFlags {
  readonly status?: OpenFilter["status"];
}

export function cancelCommand(): Command {
  const command = operatorCommand("cancel", {
    description: "cancel tasks; those that run are told to stop",
    examples: [
      `tasks cancel ${SOME_ID}`,
      "tasks cancel --name import --status pending --dry-run",
      "tasks cancel --queue bulk --max-per-second 1000",
    ],
  })
    .argument("[id]", "the id of one task")
    .addOption(
      new Option("--status <status>", OPEN_STATES.join(", ").toLowerCase()).argParser(
        oneOf(OPEN_STATES),
      ),
    );
  return addPace(addTaskFilter(command)).action((id: string | undefined, options: CancelFlags) =>
    withApp(options, async (app, signal) => {
      const { status, all = false } = options;
      const filter = {
        ...taskFilter(options),
        ...(status !== undefined && { status }),
      } as OpenFilter;
      requireChoice(id, filter, all);
      if (id === undefined)
        return changeSeveral(options, "cancelled", (pace) =>
          app.admin.tasks.cancel(filter, { ...pace, signal }),
        );
      refusePace(options);
      const outcome = await app.admin.tasks.cancel(id);
      answer(options, { id, outcome }, () => `task ${id}: ${cancelTexts[outcome]}`);
    }),
  );
}

const cancelTexts = {
  cancelled: "cancelled, it will not run",
  requested: "it is running and was told to stop",
  finished: "it had ended, nothing was changed",
} as const;

function refusePace({ maxPerSecond, dryRun }: PaceFlags): void {
  if (maxPerSecond !== undefined || dryRun)
    throw new UsageError(
      "--max-per-second and --dry-run are for several tasks; leave them out with an id",
    );
}

async function changeSeveral(
  options: OperatorOptions & PaceFlags,
  done: "retried" | "cancelled",
  change: (pace: PaceOptions) => Promise<ChangedTasks>,
): Promise<void> {
  const { maxPerSecond, dryRun = false } = options;
  const changed = await withProgress(done, (show) =>
    change({
      dryRun,
      ...(maxPerSecond !== undefined && { maxPerSecond }),
      onProgress: (count, matched) => show(`${count} of ${matched}`),
    }),
  );
  answer(options, changed, () => {
    const { matched, skipped } = changed;
    if (dryRun) return `${counted(matched, "task")} would be ${done}`;
    const left = skipped === 0 ? "" : `; ${skipped} moved meanwhile or need a new deadline`;
    return `${counted(changed.changed, "task")} of ${matched} ${done}${left}`;
  });
}

interface SendAgainFlags extends OperatorOptions {
  readonly queue?: string;
  readonly priority?: number;
  readonly delay?: number;
}

const priorityFlag = (): Option =>
  new Option("--priority <n>", "lower runs first (1 to 100)").argParser((text) =>
    wholeNumber(text, { min: 1, max: 100 }),
  );

export function sendAgainCommand(): Command {
  return operatorCommand("send-again", {
    description: "send a task again as a new one, with its input or another; prints the new id",
    examples: [
      `tasks send-again ${SOME_ID}`,
      `tasks send-again ${SOME_ID} '{"to": "ann@example.com"}'`,
    ],
  })
    .argument("<id>", "the id of the task to copy")
    .argument("[input]", "another input, as JSON", jsonValue)
    .option("-q, --queue <name>", "another queue")
    .addOption(priorityFlag())
    .addOption(new Option("--delay <duration>", "run after this long").argParser(durationMs))
    .action((id: string, input: Json | undefined, options: SendAgainFlags) =>
      withApp(options, async (app) => {
        const { queue, priority, delay } = options;
        const copy = await app.admin.tasks.sendAgain(id, {
          ...(input !== undefined && { input }),
          ...(queue !== undefined && { queue }),
          ...(priority !== undefined && { priority }),
          ...(delay !== undefined && { delayMs: delay }),
        });
        answer(options, { id: copy, copyOf: id }, () => copy);
      }),
    );
}

export function runNowCommand(): Command {
  return operatorCommand("run-now", {
    description: "make a waiting task due now, whatever its delay or the time of its retry",
    examples: [`tasks run-now ${SOME_ID}`],
  })
    .argument("<id>", "the id of the task")
    .action((id: string, options: OperatorOptions) =>
      withApp(options, async (app) =>
        answerMove(options, id, await app.admin.tasks.runNow(id), "due now"),
      ),
    );
}

export function priorityCommand(): Command {
  return operatorCommand("priority", {
    description: "move a waiting task to another priority, until it is claimed",
    examples: [`tasks priority ${SOME_ID} 1`],
  })
    .argument("<id>", "the id of the task")
    .argument("<priority>", "1 to 100, lower runs first", (text) =>
      wholeNumber(text, { min: 1, max: 100 }),
    )
    .action((id: string, priority: number, options: OperatorOptions) =>
      withApp(options, async (app) =>
        answerMove(
          options,
          id,
          await app.admin.tasks.setPriority(id, priority),
          `in priority ${priority}`,
        ),
      ),
    );
}

type Moved = Awaited<ReturnType<Posthaste["admin"]["tasks"]["runNow"]>>;

function answerMove(options: OperatorOptions, id: string, outcome: Moved, where: string): void {
  const texts = {
    moved: `is ${where}`,
    unchanged: `was ${where} already`,
    active: "is claimed or running; nothing was changed",
    finished: "has ended; nothing was changed",
  } as const;
  answer(options, { id, outcome }, () => `task ${id} ${texts[outcome]}`);
}

export function deleteCommand(): Command {
  return operatorCommand("delete", {
    description:
      "delete a task that waits or has ended, with everything that is stored of it: input, result, errors, history",
    examples: [`tasks delete ${SOME_ID}`],
  })
    .argument("<id>", "the id of the task")
    .action((id: string, options: OperatorOptions) =>
      withApp(options, async (app) => {
        const outcome = await app.admin.tasks.delete(id);
        answer(options, { id, outcome }, () =>
          outcome === "deleted"
            ? `task ${id} is deleted`
            : `task ${id} is claimed or running; cancel it first`,
        );
      }),
    );
}
