import { Option, type Command } from "commander";
import type { SweepResult, WorkerInfo } from "../admin/admin.ts";
import { TaskStatus } from "../domain/task-lifecycle.ts";
import { counted } from "./counted.ts";
import {
  answer,
  noun,
  operatorCommand,
  withApp,
  type OperatorOptions,
} from "./operator-command.ts";
import { durationMs } from "./option-values.ts";
import { paint, terminalWidth, type Style } from "./output.ts";
import { withProgress } from "./progress-line.ts";
import { tableLines, type Column } from "./table.ts";
import { instantText, relativeText } from "./time-text.ts";

export function workersCommand(): Command {
  return noun("workers", "list workers, and recover the tasks of silent ones", [
    listCommand(),
    sweepCommand(),
  ]);
}

export function stateOfWorker({ state, isStale }: WorkerInfo): string {
  return isStale ? "stale" : state;
}

export function styleOfWorker(worker: WorkerInfo): Style | undefined {
  const state = stateOfWorker(worker);
  if (state === "stale" || state === "blocked" || state === "dead") return "red";
  if (state === "stopping") return "yellow";
  return state === "running" ? "green" : "gray";
}

/** `top` shows the same columns. */
export const workerColumns: readonly Column<WorkerInfo>[] = [
  { title: "WORKER", value: ({ name }) => name },
  {
    title: "STATE",
    value: stateOfWorker,
    paint: (text, worker) => paint(styleOfWorker(worker) ?? "reset", text),
  },
  {
    title: "SLOTS",
    value: ({ running, concurrency }) => `${running}/${concurrency}`,
    align: "right",
  },
  { title: TaskStatus.CLAIMED, value: ({ claimed }) => String(claimed), align: "right" },
  { title: "HEARTBEAT", value: ({ lastHeartbeatAt }) => relativeText(lastHeartbeatAt) },
  { title: "STARTED", value: ({ startedAt }) => relativeText(startedAt) },
  { title: "QUEUES", value: ({ queues }) => queues.join(", ") },
];

const listColumns: readonly Column<WorkerInfo>[] = [
  { title: "ID", value: ({ id }) => id, isWhole: true },
  ...workerColumns,
  { title: "HOST", value: ({ hostname, pid }) => `${hostname}:${pid}` },
  { title: "VERSION", value: ({ version }) => version },
];

interface ListOptions extends OperatorOptions {
  readonly all?: true;
  readonly staleAfter?: number;
}

function listCommand(): Command {
  return operatorCommand("list", {
    description: "list running and stopping workers, or with --all also those that are gone",
    examples: ["workers list", "workers list --all --stale-after 1m --json"],
  })
    .option("--all", "also workers that have stopped or died, at most 1,000")
    .addOption(
      new Option(
        "--stale-after <duration>",
        "a worker without a heartbeat for this long is stale (default: workerRecovery.sweepThresholdMs)",
      ).argParser(durationMs),
    )
    .action((options: ListOptions) =>
      withApp(options, async (app) => {
        const { staleAfter } = options;
        const found = await app.admin.workers.list(
          staleAfter === undefined ? undefined : { staleAfterMs: staleAfter },
        );
        const workers = options.all ? found : found.filter(isAlive);
        answer(options, workers, () =>
          workers.length === 0
            ? "no worker is running"
            : tableLines(listColumns, workers, terminalWidth()).join("\n"),
        );
      }),
    );
}

export function isAlive({ state }: WorkerInfo): boolean {
  return state !== "stopped" && state !== "dead";
}

interface SweepFlags extends OperatorOptions {
  readonly silentFor?: number;
  readonly delay?: number;
  readonly dryRun?: true;
  readonly force?: true;
}

function sweepCommand(): Command {
  return operatorCommand("sweep", {
    description:
      "recover the tasks of workers that have been silent for too long; --app brings the app's workerRecovery, hooks and onCrash rules",
    examples: ["workers sweep --dry-run", "workers sweep --silent-for 1m --app app.ts"],
  })
    .addOption(
      new Option(
        "--silent-for <duration>",
        "how long a worker was silent (default: workerRecovery.sweepThresholdMs)",
      ).argParser(durationMs),
    )
    .addOption(
      new Option(
        "--delay <duration>",
        "how long a requeued task waits (default: workerRecovery.recoveryDelayMs)",
      ).argParser(durationMs),
    )
    .option("--dry-run", "change nothing, and print the decisions")
    .option("--force", "judge workers although PostgreSQL has just started or was promoted")
    .action((options: SweepFlags) =>
      withApp(options, async (app) => {
        const { silentFor, delay, dryRun = false, force = false } = options;
        const swept = await withProgress("sweeping workers", () =>
          app.admin.sweepStaleWorkers({
            dryRun,
            force,
            ...(silentFor !== undefined && { sweepThresholdMs: silentFor }),
            ...(delay !== undefined && { recoveryDelayMs: delay }),
          }),
        );
        answer(options, swept, () => sweepText(swept, dryRun));
      }),
    );
}

function sweepText({ workerIds, recoveredCount, tasks, notJudged }: SweepResult, dry: boolean) {
  const would = dry ? "would be " : "";
  const lines = [
    `${counted(workerIds.length, "worker")} ${would}declared dead, ${counted(recoveredCount, "task")} ${would}recovered`,
    ...workerIds.map((id) => `  worker ${id}`),
    ...tasks.map(({ id, name, decision }) => `  task ${id}  ${decision}  ${name}`),
  ];
  if (notJudged === null) return lines.join("\n");
  const until =
    notJudged.until === null
      ? ""
      : `, until ${instantText(notJudged.until)}; --force judges anyway`;
  return [...lines, `no silence was judged: ${notJudged.reason}${until}`].join("\n");
}
