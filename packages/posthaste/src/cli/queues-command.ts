import type { Command } from "commander";
import type { QueueInfo } from "../admin/admin.ts";
import { TaskStatus } from "../domain/task-lifecycle.ts";
import {
  answer,
  noun,
  operatorCommand,
  withApp,
  type OperatorOptions,
} from "./operator-command.ts";
import { paint, terminalWidth } from "./output.ts";
import { tableLines, type Column } from "./table.ts";
import { relativeText } from "./time-text.ts";

export function queuesCommand(): Command {
  return noun("queues", "list, pause and resume queues", [
    listCommand(),
    changeCommand("pause"),
    changeCommand("resume"),
  ]);
}

/** `top` shows the same columns. */
export const queueColumns: readonly Column<QueueInfo>[] = [
  { title: "QUEUE", value: ({ name }) => name, isWhole: true },
  {
    title: "STATE",
    value: ({ pausedAt }) => (pausedAt === null ? "open" : `paused ${relativeText(pausedAt)}`),
    paint: (text, { pausedAt }) => (pausedAt === null ? text : paint("yellow", text)),
  },
  { title: TaskStatus.PENDING, value: ({ pending }) => String(pending), align: "right" },
  { title: TaskStatus.CLAIMED, value: ({ claimed }) => String(claimed), align: "right" },
  { title: TaskStatus.RUNNING, value: ({ running }) => String(running), align: "right" },
];

function listCommand(): Command {
  return operatorCommand("list", {
    description: "list the queues that are configured, hold a task, or were ever paused",
    examples: ["queues list", "queues list --json | jq '.[] | select(.pending > 1000)'"],
  }).action((options: OperatorOptions) =>
    withApp(options, async (app) => {
      const queues = await app.admin.queues.list();
      answer(options, queues, () =>
        queues.length === 0
          ? "no queue holds a task"
          : tableLines(queueColumns, queues, terminalWidth()).join("\n"),
      );
    }),
  );
}

interface ChangeOptions extends OperatorOptions {
  readonly force?: true;
}

function changeCommand(verb: "pause" | "resume"): Command {
  const isPause = verb === "pause";
  return operatorCommand(verb, {
    description: isPause
      ? "stop claiming and starting tasks of a queue; running tasks go on"
      : "claim and start tasks of a paused queue again",
    examples: [`queues ${verb} mail`, `queues ${verb} mail --app app.ts --json`],
  })
    .argument("<queue>", "the name of the queue")
    .option("-f, --force", "take a name that is not known")
    .action((name: string, options: ChangeOptions) =>
      withApp(options, async (app) => {
        const changed = await app.admin.queues[verb](name, { force: options.force ?? false });
        const done = isPause ? "is paused now" : "is open now";
        const before = isPause ? "was paused already" : "was not paused";
        answer(options, { name, changed }, () => `queue ${name} ${changed ? done : before}`);
      }),
    );
}
