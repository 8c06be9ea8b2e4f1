import { Option, type Command } from "commander";
import type { ListTasksOptions, TaskGate, TaskSummary } from "../admin/admin.ts";
import { TaskStatus } from "../domain/task-lifecycle.ts";
import { answer, operatorCommand, withApp, type OperatorOptions } from "./operator-command.ts";
import { wholeNumber } from "./option-values.ts";
import { hint, paint, terminalWidth } from "./output.ts";
import { tableLines, type Column } from "./table.ts";
import { addTaskFilter, oneOf, taskFilter, type TaskFilterFlags } from "./task-filter-flags.ts";
import { paintStatus } from "./task-text.ts";
import { relativeText } from "./time-text.ts";

const columns: readonly Column<TaskSummary>[] = [
  { title: "TASK", value: ({ id }) => id, isWhole: true },
  {
    title: "STATUS",
    value: ({ status }) => status,
    paint: (text, { status }) => paintStatus(text, status),
  },
  { title: "NAME", value: ({ name }) => name },
  { title: "QUEUE", value: ({ queue }) => queue },
  { title: "ATTEMPTS", value: ({ attempts }) => String(attempts), align: "right" },
  { title: "SENT", value: ({ sentAt }) => relativeText(sentAt) },
  {
    title: "ENDED",
    value: ({ finishedAt }) => (finishedAt === null ? "" : relativeText(finishedAt)),
  },
  { title: "ERROR", value: ({ errorCode }) => errorCode ?? "" },
];

interface ListFlags extends OperatorOptions, TaskFilterFlags {
  readonly status?: TaskStatus;
  readonly errorCode?: string;
  readonly limit: number;
  readonly cursor?: string;
}

export function listCommand(): Command {
  const command = operatorCommand("list", {
    description:
      "list tasks: ends latest first, waiting tasks in the order in which workers claim them",
    examples: [
      "tasks list --status failed --since 1d",
      "tasks list --status failed --name send-mail --error-code SMTP_DOWN --json",
      "tasks list --status pending --queue mail --limit 20",
    ],
  }).addOption(
    new Option("--status <status>", Object.values(TaskStatus).join(", ").toLowerCase()).argParser(
      oneOf(Object.values(TaskStatus)),
    ),
  );
  return addTaskFilter(command)
    .option("--error-code <code>", "only ends with this code; needs --status")
    .addOption(
      new Option("-n, --limit <n>", "how many (1 to 1000)")
        .default(100)
        .argParser((text) => wholeNumber(text, { min: 1, max: 1_000 })),
    )
    .option("--cursor <cursor>", "go on behind the page before")
    .action((options: ListFlags) =>
      withApp(options, async (app) => {
        const { status, errorCode, limit, cursor } = options;
        const asked: ListTasksOptions = {
          ...taskFilter(options),
          limit,
          ...(status !== undefined && { status }),
          ...(errorCode !== undefined && { errorCode }),
          ...(cursor !== undefined && { cursor }),
        };
        const page = await app.admin.tasks.list(asked);
        answer(options, page, () =>
          page.tasks.length === 0
            ? "no task matches"
            : tableLines(columns, page.tasks, terminalWidth()).join("\n"),
        );
        if (options.json || page.cursor === null) return;
        const why = page.partial ? "10,000 rows were read; there may be more" : "there are more";
        hint(`${why}: --cursor ${page.cursor}`);
      }),
    );
}

interface WhyFlags extends OperatorOptions {
  readonly node?: string;
}

export function whyCommand(): Command {
  return operatorCommand("why", {
    description:
      "say why a task does not run: everything that holds it, in the order in which a claim checks it",
    examples: [
      "tasks why 019a9c4e-8d3b-7c10-9a53-0c5a8b1d2e3f",
      "tasks why 019a9c4e-8d3b-7c10-9a53-0c5a8b1d2e3f --node ship",
    ],
  })
    .argument("<id>", "the id of the task; with --node, the id of the run")
    .option("--node <node>", "a node of the run, which need not have a task yet")
    .action((id: string, options: WhyFlags) =>
      withApp(options, async (app) => {
        const { node } = options;
        const explained = await app.admin.tasks.explain(id, node === undefined ? {} : { node });
        answer(options, explained, () => {
          const { status, gates } = explained;
          const what = node === undefined ? `task ${id}` : `node ${node} of run ${id}`;
          const head = `${what} is ${paintStatus(status, status)}`;
          if (gates.length === 0) return `${head}; nothing holds it, a worker claims it next`;
          return [head, ...gates.map(gateLine)].join("\n");
        });
      }),
    );
}

function gateLine({ code, message }: TaskGate, index: number): string {
  return `  ${index + 1}. ${message} ${paint("gray", code)}`;
}
