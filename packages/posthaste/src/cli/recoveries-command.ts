import { Option, type Command } from "commander";
import type { RecoveryInfo } from "../admin/admin.ts";
import {
  answer,
  noun,
  operatorCommand,
  withApp,
  type OperatorOptions,
} from "./operator-command.ts";
import { wholeNumber } from "./option-values.ts";
import { terminalWidth } from "./output.ts";
import { tableLines, type Column } from "./table.ts";
import { relativeText } from "./time-text.ts";

/** `top` shows the same columns. */
export const recoveryColumns: readonly Column<RecoveryInfo>[] = [
  { title: "RECOVERED", value: ({ recoveredAt }) => relativeText(recoveredAt) },
  { title: "WAS", value: ({ status }) => status },
  { title: "ATTEMPT", value: ({ attempt }) => String(attempt), align: "right" },
  { title: "REASON", value: ({ reason }) => reason },
  { title: "DECISION", value: ({ decision }) => decision },
];

const listColumns: readonly Column<RecoveryInfo>[] = [
  { title: "TASK", value: ({ taskId }) => taskId, isWhole: true },
  ...recoveryColumns,
  { title: "BY", value: ({ recoveredBy }) => recoveredBy },
  { title: "WORKER", value: ({ workerId }) => workerId, isWhole: true },
];

interface ListOptions extends OperatorOptions {
  readonly task?: string;
  readonly limit: number;
}

export function recoveriesCommand(): Command {
  const list = operatorCommand("list", {
    description: "list the tasks that were taken from dead or silent workers, newest first",
    examples: [
      "recoveries list",
      "recoveries list --task 019a9c4e-8d3b-7c10-9a53-0c5a8b1d2e3f --json",
    ],
  })
    .option("--task <id>", "only recoveries of this task")
    .addOption(
      new Option("-n, --limit <n>", "how many (1 to 10000)")
        .default(100)
        .argParser((text) => wholeNumber(text, { min: 1, max: 10_000 })),
    )
    .action((options: ListOptions) =>
      withApp(options, async (app) => {
        const { task: taskId, limit } = options;
        const recoveries = await app.admin.recoveries.list({
          limit,
          ...(taskId !== undefined && { taskId }),
        });
        answer(options, recoveries, () =>
          recoveries.length === 0
            ? "no task was recovered"
            : tableLines(listColumns, recoveries, terminalWidth()).join("\n"),
        );
      }),
    );
  return noun("recoveries", "list recovered tasks", [list]);
}
