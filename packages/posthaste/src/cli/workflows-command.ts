import { Option, type Command } from "commander";
import type { WorkflowSummary } from "../define/workflow-run.ts";
import { WorkflowStatus } from "../domain/workflow-lifecycle.ts";
import {
  answer,
  noun,
  operatorCommand,
  withApp,
  type OperatorOptions,
} from "./operator-command.ts";
import { oneOf, wholeNumber } from "./option-values.ts";
import { terminalWidth } from "./output.ts";
import { runText } from "./run-text.ts";
import { tableLines, type Column } from "./table.ts";
import { paintStatus } from "./task-text.ts";
import { durationText, relativeText } from "./time-text.ts";
import { workflowGraphCommand } from "./workflow-graph-command.ts";

export function workflowsCommand(): Command {
  return noun("workflows", "list, show and steer runs of workflows", [
    listCommand(),
    showCommand(),
    workflowGraphCommand(),
    steerCommand("pause", {
      description: "start nothing new of a run; what runs goes on to its end",
      texts: ["is paused now", "was not running"],
    }),
    steerCommand("resume", {
      description: "go on with a paused run",
      texts: ["is running again", "was not paused"],
    }),
    cancelCommand(),
    retryFromCommand(),
  ]);
}

const SOME_ID = "019a9c4e-8d3b-7c10-9a53-0c5a8b1d2e3f";

/** `top` shows the same columns. */
export const runColumns: readonly Column<WorkflowSummary>[] = [
  { title: "WORKFLOW", value: ({ name, version }) => `${name} v${version}` },
  {
    title: "STATUS",
    value: ({ status }) => status,
    isWhole: true,
    paint: (text, { status }) => paintStatus(text, status),
  },
  {
    title: "NODES",
    value: ({ counts }) => `${counts.total - counts.open}/${counts.total}`,
    align: "right",
    isWhole: true,
  },
  { title: "STARTED", value: ({ startedAt }) => relativeText(startedAt), isWhole: true },
  {
    title: "TOOK",
    value: ({ startedAt, endedAt }) =>
      endedAt === null ? "" : durationText(endedAt.getTime() - startedAt.getTime()),
    align: "right",
    isWhole: true,
  },
  { title: "ERROR", value: ({ error }) => error?.code ?? "" },
];

const listColumns: readonly Column<WorkflowSummary>[] = [
  { title: "RUN", value: ({ id }) => id, isWhole: true },
  ...runColumns,
];

interface ListOptions extends OperatorOptions {
  readonly name?: string;
  readonly status?: string;
  readonly nested?: true;
  readonly before?: string;
  readonly limit: number;
}

function listCommand(): Command {
  const statuses = Object.values(WorkflowStatus);
  return operatorCommand("list", {
    description: "list runs, newest first",
    examples: ["workflows list", "workflows list --status FAILED --name ship-order --json"],
  })
    .option("--name <workflow>", "only runs of this workflow")
    .addOption(
      new Option("--status <status>", `only runs in this status: ${statuses.join(", ")}`).argParser(
        (text) => oneOf(text.toUpperCase(), statuses),
      ),
    )
    .option("--nested", "also runs that are nested in others")
    .option("--before <id>", "only runs before this one in the list: the next page")
    .addOption(
      new Option("-n, --limit <n>", "how many (1 to 1000)")
        .default(100)
        .argParser((text) => wholeNumber(text, { min: 1, max: 1_000 })),
    )
    .action((options: ListOptions) =>
      withApp(options, async (app) => {
        const { name, status, nested = false, before, limit } = options;
        const runs = await app.admin.workflows.list({
          nested,
          limit,
          ...(name !== undefined && { name }),
          ...(status !== undefined && { status: status as WorkflowStatus }),
          ...(before !== undefined && { before }),
        });
        answer(options, runs, () =>
          runs.length === 0 ? "no run" : tableLines(listColumns, runs, terminalWidth()).join("\n"),
        );
      }),
    );
}

function showCommand(): Command {
  return operatorCommand("show", {
    description: "show a run: its graph with the state of every node",
    examples: [`workflows show ${SOME_ID}`, `workflows show ${SOME_ID} --json`],
  })
    .argument("<id>", "the id of the run")
    .action((id: string, options: OperatorOptions) =>
      withApp(options, async (app) => {
        const run = await app.admin.workflows.get(id);
        answer(options, run, () => runText(run));
      }),
    );
}

function steerCommand(
  verb: "pause" | "resume",
  { description, texts }: { readonly description: string; readonly texts: readonly string[] },
): Command {
  return operatorCommand(verb, { description, examples: [`workflows ${verb} ${SOME_ID}`] })
    .argument("<id>", "the id of the run")
    .action((id: string, options: OperatorOptions) =>
      withApp(options, async (app) => {
        const changed = await app.admin.workflows[verb](id);
        answer(options, { id, changed }, () => `run ${id} ${texts[changed ? 0 : 1] ?? ""}`);
      }),
    );
}

function cancelCommand(): Command {
  return operatorCommand("cancel", {
    description: "cancel a run; tasks of it that run are told to stop",
    examples: [`workflows cancel ${SOME_ID}`],
  })
    .argument("<id>", "the id of the run")
    .action((id: string, options: OperatorOptions) =>
      withApp(options, async (app) => {
        const outcome = await app.admin.workflows.cancel(id);
        answer(options, { id, outcome }, () => `run ${id}: ${cancelTexts[outcome]}`);
      }),
    );
}

const cancelTexts = {
  cancelled: "cancelled",
  requested: "its running tasks were told to stop, then it ends CANCELLED",
  finished: "it had ended, nothing was changed",
} as const;

function retryFromCommand(): Command {
  return operatorCommand("retry-from", {
    description:
      "start failed nodes of a failed or paused run over, with all that follows; of a fan-out only the failed items",
    examples: [`workflows retry-from ${SOME_ID} paid`],
  })
    .argument("<id>", "the id of the run")
    .argument("<nodes...>", "the ids of the failed nodes")
    .action((id: string, nodes: string[], options: OperatorOptions) =>
      withApp(options, async (app) => {
        const [first = "", ...others] = nodes;
        await app.admin.workflows.retryFrom(id, first, ...others);
        answer(options, { id, nodes }, () => `run ${id} goes on from ${nodes.join(", ")}`);
      }),
    );
}
