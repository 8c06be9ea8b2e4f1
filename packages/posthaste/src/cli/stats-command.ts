import { Option, type Command } from "commander";
import type { EndStats, QueueStats, TaskStats } from "../admin/admin.ts";
import { TaskStatus } from "../domain/task-lifecycle.ts";
import { answer, operatorCommand, withApp, type OperatorOptions } from "./operator-command.ts";
import { durationMs } from "./option-values.ts";
import { paint, terminalWidth } from "./output.ts";
import { tableLines, type Column } from "./table.ts";
import { durationText } from "./time-text.ts";

interface StatsFlags extends OperatorOptions {
  readonly since: number;
}

export function statsCommand(): Command {
  return operatorCommand("stats", {
    description: "how much waits, how fast tasks end, how long they wait and run",
    examples: [
      "stats",
      "stats --since 1d",
      "stats --json | jq '.queues[] | select(.ready > 1000)'",
    ],
  })
    .addOption(
      new Option("--since <duration>", "the span of counts, rates and percentiles: 1m to 31d")
        .default(15 * 60_000, "15m")
        .argParser(durationMs),
    )
    .action((options: StatsFlags) =>
      withApp(options, async (app) => {
        const stats = await app.admin.stats({ spanMs: options.since });
        answer(options, stats, () => {
          const { queues, tasks, spanMs } = stats;
          if (queues.length === 0) return "no queue has a task, and no worker serves one";
          const width = terminalWidth();
          const span = `the last ${durationText(spanMs)} (workers report every half minute)`;
          const ended =
            tasks.length === 0
              ? [`no task has ended in ${span}`]
              : [paint("bold", `ended in ${span}`), ...tableLines(endColumns, tasks, width)];
          return [...tableLines(depthColumns, queues, width), "", ...ended].join("\n");
        });
      }),
    );
}

const right = { align: "right" } as const;

const depthColumns: readonly Column<QueueStats>[] = [
  { title: "QUEUE", value: ({ name }) => name, isWhole: true },
  { title: "READY", value: ({ ready, isCapped }) => `${ready}${isCapped ? "+" : ""}`, ...right },
  { title: "DELAYED", value: ({ delayed }) => String(delayed), ...right },
  { title: TaskStatus.CLAIMED, value: ({ claimed }) => String(claimed), ...right },
  { title: TaskStatus.RUNNING, value: ({ running }) => String(running), ...right },
  {
    title: "OLDEST",
    value: ({ oldestReadyMs }) => (oldestReadyMs === null ? "" : durationText(oldestReadyMs)),
    ...right,
  },
  { title: "ENDED/S", value: rateText, ...right },
  { title: "WAIT P50/P95/P99", value: ({ wait }) => percentilesText(wait), ...right },
  { title: "RUN P50/P95/P99", value: ({ run }) => percentilesText(run), ...right },
];

const endColumns: readonly Column<TaskStats>[] = [
  { title: "TASK", value: ({ name }) => name },
  { title: "QUEUE", value: ({ queue }) => queue },
  { title: TaskStatus.COMPLETED, value: ({ completed }) => String(completed), ...right },
  {
    title: TaskStatus.FAILED,
    value: ({ failed }) => String(failed),
    paint: (text, { failed }) => (failed > 0 ? paint("red", text) : text),
    ...right,
  },
  { title: "RETRIED", value: ({ retried }) => String(retried), ...right },
  { title: TaskStatus.CANCELLED, value: ({ cancelled }) => String(cancelled), ...right },
  { title: TaskStatus.EXPIRED, value: ({ expired }) => String(expired), ...right },
  { title: "ENDED/S", value: rateText, ...right },
  { title: "WAIT P50/P95/P99", value: ({ wait }) => percentilesText(wait), ...right },
  { title: "RUN P50/P95/P99", value: ({ run }) => percentilesText(run), ...right },
];

function rateText({ perSecond }: EndStats): string {
  if (perSecond === 0) return "";
  return perSecond < 0.01 ? "<0.01" : perSecond.toFixed(perSecond < 10 ? 2 : 0);
}

function percentilesText({ p50, p95, p99 }: EndStats["wait"]): string {
  if (p50 === null || p95 === null || p99 === null) return "";
  return [p50, p95, p99].map(shortDuration).join(" / ");
}

/** Two digits are enough for a figure that is right within a fifth. */
function shortDuration(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : durationText(ms);
}
