/** A task as text for people: facts, then its timeline. */
import type { TaskTimeline, TimelineEvent } from "../admin/admin.ts";
import { NodeStatus, WorkflowStatus } from "../domain/workflow-lifecycle.ts";
import { TaskStatus } from "../domain/task-lifecycle.ts";
import { paint, terminalWidth, type Style } from "./output.ts";
import { tableLines, type Column } from "./table.ts";
import { printable } from "./terminal-text.ts";
import { durationText, instantText } from "./time-text.ts";

/** Statuses of tasks, runs and nodes. */
export function styleOfStatus(status: string): Style | undefined {
  switch (status) {
    case TaskStatus.COMPLETED:
      return "green";
    case TaskStatus.FAILED:
    case TaskStatus.EXPIRED:
      return "red";
    case TaskStatus.RUNNING:
      return "cyan";
    case TaskStatus.CANCELLED:
    case WorkflowStatus.PAUSED:
      return "yellow";
    case NodeStatus.SKIPPED:
      return "gray";
    default:
      return undefined;
  }
}

export function paintStatus(text: string, status: string): string {
  const style = styleOfStatus(status);
  return style === undefined ? text : paint(style, text);
}

export function taskText(task: TaskTimeline, width = terminalWidth()): string {
  const { id, name, status, events } = task;
  const head = `task ${id}  ${printable(name)}  ${paintStatus(status, status)}`;
  const labels = labelledFacts(task).map(
    ([label, value]) => `  ${paint("gray", label.padEnd(10))}${printable(value)}`,
  );
  const lines = tableLines(columnsOf(task), events, width === undefined ? undefined : width - 2);
  return [head, ...labels, "", ...lines.map((line) => `  ${line}`)].join("\n");
}

function labelledFacts(task: TaskTimeline): readonly (readonly [string, string])[] {
  const { error, worker, node, key, goodUntil, progress, copyOf } = task;
  return [
    ["queue", `${task.queue}, priority ${task.priority}`],
    ...(key === null ? [] : [["key", key] as const]),
    ...(node === null ? [] : [["node", `${node.id} of run ${node.workflowId}`] as const]),
    ...(copyOf === null ? [] : [["copy of", copyOf] as const]),
    ["input", JSON.stringify(task.input)],
    ...(progress === null ? [] : [["progress", JSON.stringify(progress)] as const]),
    ...(task.status === TaskStatus.COMPLETED
      ? [["result", JSON.stringify(task.result)] as const]
      : []),
    ...(error === null ? [] : [["error", `${error.code}: ${error.message}`] as const]),
    ...(goodUntil === null ? [] : [["good until", ` ${instantText(goodUntil)}`] as const]),
    ...(worker === null ? [] : [["worker", `${worker.id} ${worker.name ?? ""}`] as const]),
  ];
}

function columnsOf({ sentAt }: TaskTimeline): readonly Column<TimelineEvent>[] {
  return [
    { title: "TIME", value: ({ at }) => instantText(at), isWhole: true },
    {
      title: "SINCE SENT",
      value: ({ at }) => `+${durationText(at.getTime() - sentAt.getTime())}`,
      align: "right",
      isWhole: true,
    },
    { title: "EVENT", value: ({ event }) => event, isWhole: true },
    { title: "ATTEMPT", value: ({ attempt }) => (attempt === null ? "" : String(attempt)) },
    { title: "DETAIL", value: detailOf },
  ];
}

function detailOf({ detail, workerId, event }: TimelineEvent): string {
  if (workerId === null || event === "attempt ended" || event === "recovered") return detail;
  return `${detail}${detail === "" ? "" : ", "}worker ${workerId}`;
}
