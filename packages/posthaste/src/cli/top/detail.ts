/** A task, run or worker in full, as lines. */
import type { TaskTimeline, WorkerInfo, WorkflowDetails } from "../../admin/admin.ts";
import { paint } from "../output.ts";
import { runText } from "../run-text.ts";
import { taskText } from "../task-text.ts";
import { printable } from "../terminal-text.ts";
import { instantText } from "../time-text.ts";

export type Detail =
  | { readonly kind: "task"; readonly task: TaskTimeline }
  | { readonly kind: "run"; readonly run: WorkflowDetails }
  | { readonly kind: "worker"; readonly worker: WorkerInfo }
  | { readonly kind: "absent"; readonly reason: string };

/** The number of lines is the same for every width. */
export function detailLines(detail: Detail, width: number): string[] {
  switch (detail.kind) {
    case "task":
      return taskText(detail.task, width).split("\n");
    case "run":
      return runText(detail.run, width).split("\n");
    case "worker":
      return workerLines(detail.worker);
    case "absent":
      return [` ${printable(detail.reason)}`];
  }
}

function workerLines(worker: WorkerInfo): string[] {
  const { id, name, hostname, pid, version, state, metadata } = worker;
  const facts: readonly (readonly [string, string])[] = [
    ["state", worker.isStale ? `${state}, stale` : state],
    ["process", `${pid} on ${hostname}`],
    ["version", version],
    ["slots", `${worker.running} of ${worker.concurrency} run, ${worker.claimed} claimed`],
    ["started", instantText(worker.startedAt)],
    ["heartbeat", instantText(worker.lastHeartbeatAt)],
    ["blocked", `${worker.loopBlockedMs} ms at its last heartbeat`],
    ["queues", worker.queues.join(", ")],
    ["tasks", worker.taskNames.join(", ")],
    ...Object.entries(metadata).map(([key, value]) => [key, String(value)] as const),
  ];
  return [
    `worker ${id}  ${printable(name)}`,
    ...facts.map(([label, value]) => `  ${paint("gray", label.padEnd(10))}${printable(value)}`),
  ];
}
