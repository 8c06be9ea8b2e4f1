/** A run as text for people: its graph in the order in which it was written, with the state of every node. */
import type { WorkflowDetails } from "../admin/admin.ts";
import type { NodeInfo } from "../define/workflow-run.ts";
import { kindText } from "../domain/graph-words.ts";
import type { GraphNode } from "../domain/workflow-graph.ts";
import { NodeStatus } from "../domain/workflow-lifecycle.ts";
import { counted } from "./counted.ts";
import { paint, terminalWidth } from "./output.ts";
import { tableLines, type Column } from "./table.ts";
import { paintStatus, styleOfStatus } from "./task-text.ts";
import { printable } from "./terminal-text.ts";
import { durationText, instantText } from "./time-text.ts";

interface Row {
  readonly node: NodeInfo;
  /** Undefined: the graph does not have it, which no release of the library writes. */
  readonly definition: GraphNode | undefined;
  readonly depth: number;
}

/** One character for each status, so that a column of them is a picture. */
const symbols: Readonly<Record<string, string>> = {
  [NodeStatus.COMPLETED]: "✓",
  [NodeStatus.FAILED]: "✗",
  [NodeStatus.SKIPPED]: "○",
  [NodeStatus.RUNNING]: "▶",
  [NodeStatus.ENQUEUED]: "▷",
};

const columns: readonly Column<Row>[] = [
  {
    title: "NODE",
    value: ({ node, depth }) => `${"  ".repeat(depth)}${symbols[node.status] ?? "·"} ${node.id}`,
    paint: (text, { node }) => {
      const style = styleOfStatus(node.status);
      return style === undefined ? text : paint(style, text);
    },
  },
  {
    title: "STATUS",
    value: ({ node }) => node.status,
    paint: (text, { node }) => paintStatus(text, node.status),
  },
  { title: "TASK", value: ({ definition }) => (definition ? kindText(definition) : "") },
  { title: "AFTER", value: ({ definition }) => afterText(definition) },
  { title: "TOOK", value: ({ node }) => tookText(node), align: "right" },
  { title: "DETAIL", value: ({ node }) => detailText(node) },
];

export function runText(run: WorkflowDetails, width = terminalWidth()): string {
  const { id, name, version, status, startedAt, endedAt, counts, error, parent } = run;
  const facts: readonly (readonly [string, string])[] = [
    ["started", instantText(startedAt)],
    ...(endedAt === null
      ? []
      : [
          [
            "ended",
            `${instantText(endedAt)} (${durationText(endedAt.getTime() - startedAt.getTime())})`,
          ] as const,
        ]),
    ["nodes", countsText(counts)],
    ["input", JSON.stringify(run.input)],
    ...(parent === null ? [] : [["nested in", `node ${parent.node} of run ${parent.id}`] as const]),
    ...(error === null ? [] : [["error", `${error.code}: ${error.message}`] as const]),
  ];
  const lines = tableLines(columns, rowsOf(run), width === undefined ? undefined : width - 2);
  return [
    `run ${id}  ${printable(name)}, version ${version}  ${paintStatus(status, status)}`,
    ...facts.map(([label, value]) => `  ${paint("gray", label.padEnd(10))}${printable(value)}`),
    "",
    ...lines.map((line) => `  ${line}`),
  ].join("\n");
}

function countsText({ total, open, completed, failed, skipped }: WorkflowDetails["counts"]) {
  return `${counted(total, "node")}: ${completed} completed, ${failed} failed, ${skipped} skipped, ${open} open`;
}

/** A node is indented below the deepest node that it needs. */
function rowsOf({ nodes, graph }: WorkflowDetails): Row[] {
  const definitions = new Map(graph.nodes.map((node) => [node.id, node]));
  const depths = new Map<string, number>();
  return nodes.map((node) => {
    const definition = definitions.get(node.id);
    const needs = definition?.needs ?? [];
    const depth = Math.max(-1, ...needs.map((need) => depths.get(need.node) ?? 0)) + 1;
    depths.set(node.id, depth);
    return { node, definition, depth };
  });
}

function afterText(definition: GraphNode | undefined): string {
  return (definition?.needs ?? [])
    .map(({ node, accepts }) => (accepts === "end" ? `end of ${node}` : node))
    .join(", ");
}

function tookText({ startedAt, endedAt }: NodeInfo): string {
  return startedAt === null || endedAt === null
    ? ""
    : durationText(endedAt.getTime() - startedAt.getTime());
}

function detailText({ attempts, items, result, runId, earlier, taskId }: NodeInfo): string {
  const parts = [
    items === null ? "" : `${items.completed} of ${items.total} items, ${items.failed} failed`,
    attempts.length > 1 ? `${attempts.length} attempts` : "",
    earlier.length > 0 ? `started over ${counted(earlier.length, "time")}` : "",
    result === null || result.ok ? "" : `${result.error.code}: ${result.error.message}`,
    runId === null ? "" : `run ${runId}`,
    taskId === null ? "" : `task ${taskId}`,
  ];
  return parts.filter((part) => part !== "").join("; ");
}
