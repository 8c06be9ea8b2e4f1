import { Option, type Command } from "commander";
import { defineTask } from "../define/define-task.ts";
import { PosthasteError } from "../domain/errors.ts";
import type { Json } from "../domain/json.ts";
import { exitCodes } from "./exit-codes.ts";
import {
  answer,
  noun,
  operatorCommand,
  withApp,
  type OperatorOptions,
} from "./operator-command.ts";
import { durationMs, jsonValue, wholeNumber } from "./option-values.ts";
import { complain } from "./output.ts";
import { withProgress } from "./progress-line.ts";
import { taskText } from "./task-text.ts";
import {
  cancelCommand,
  deleteCommand,
  priorityCommand,
  retryCommand,
  runNowCommand,
  sendAgainCommand,
} from "./tasks-change-commands.ts";
import { listCommand, whyCommand } from "./tasks-list-command.ts";

export function tasksCommand(): Command {
  return noun("tasks", "list, show, explain, send, retry, cancel and delete tasks", [
    listCommand(),
    showCommand(),
    whyCommand(),
    sendCommand(),
    sendAgainCommand(),
    retryCommand(),
    cancelCommand(),
    runNowCommand(),
    priorityCommand(),
    deleteCommand(),
  ]);
}

const SOME_ID = "019a9c4e-8d3b-7c10-9a53-0c5a8b1d2e3f";

function showCommand(): Command {
  return operatorCommand("show", {
    description: "show a task with its timeline: attempts, heartbeats, recoveries, end",
    examples: [`tasks show ${SOME_ID}`, `tasks show ${SOME_ID} --json`],
  })
    .argument("<id>", "the id of the task")
    .action((id: string, options: OperatorOptions) =>
      withApp(options, async (app) => {
        const task = await app.admin.tasks.timeline(id);
        answer(options, task, () => taskText(task));
      }),
    );
}

interface SendFlags extends OperatorOptions {
  readonly queue?: string;
  readonly priority?: number;
  readonly delay?: number;
  readonly key?: string;
  readonly force?: true;
  readonly wait?: true;
  readonly timeout?: number;
}

function sendCommand(): Command {
  return operatorCommand("send", {
    description:
      "send a task by its name; queue, priority and options are those of the definition that a worker registered last",
    examples: [
      `tasks send add-numbers '{"a": 2, "b": 3}'`,
      `tasks send add-numbers '{"a": 2, "b": 3}' --wait --timeout 30s`,
      "tasks send nightly-report --delay 10m --queue bulk --priority 90",
    ],
  })
    .argument("<name>", "the name of the task")
    .argument("[input]", "the input as JSON (default: null)", jsonValue)
    .option("-q, --queue <name>", "the queue")
    .addOption(
      new Option("--priority <n>", "lower runs first (1 to 100)").argParser((text) =>
        wholeNumber(text, { min: 1, max: 100 }),
      ),
    )
    .addOption(
      new Option("--delay <duration>", "run after this long, e.g. 30s, 10m, 2h").argParser(
        durationMs,
      ),
    )
    .option("--key <text>", "one task per name and key: a second send returns the first task")
    .option("-f, --force", "take a name that no worker has ever registered")
    .option("-w, --wait", "wait for the result and print it; exit code 3 if it did not succeed")
    .addOption(
      new Option("--timeout <duration>", "stop waiting after this long (default: never)").argParser(
        durationMs,
      ),
    )
    .action((name: string, input: Json | undefined, options: SendFlags) =>
      withApp(options, async (app, signal) => {
        const { queue, priority, delay, key, force = false, wait, timeout } = options;
        const id = await app.admin.tasks.send(name, input ?? null, {
          force,
          ...(queue !== undefined && { queue }),
          ...(priority !== undefined && { priority }),
          ...(delay !== undefined && { delayMs: delay }),
          ...(key !== undefined && { key }),
        });
        if (!wait) return answer(options, { id }, () => id);
        const handle = app.task(defineTask({ name }), id);
        const result = await withProgress(`waiting for task ${id}`, () =>
          handle
            .result({ signal, ...(timeout !== undefined && { timeoutMs: timeout }) })
            .catch(toldWhich(id)),
        );
        if (!result.ok) {
          process.exitCode = exitCodes.notCompleted.code;
          complain(`task ${id} ended with ${result.error.code}: ${result.error.message}`);
        }
        if (result.ok || options.json)
          answer(options, { id, result }, () =>
            result.ok ? JSON.stringify(result.value, null, 2) : "",
          );
      }),
    );
}

/** The user who stops waiting needs the id of the task, which goes on. */
function toldWhich(id: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof PosthasteError) || error.code !== "WAIT_TIMEOUT") throw error;
    throw new PosthasteError("WAIT_TIMEOUT", `task ${id} has not ended in time, and goes on`);
  };
}
