/** A graph for people who read it in a terminal. */
import { conditionText, filledText, kindText, refText } from "./graph-words.ts";
import type { GraphNode, Need, SuccessRule, TaskFacts, WorkflowGraph } from "./workflow-graph.ts";

/** Longer values are cut; `--format json` has them whole. */
const LONGEST_INPUT = 50;

/**
 *     ship-order, version 1
 *
 *       order  fetch-order { id: input.orderId }
 *       paid   charge { total: order.output.total }  after order
 *
 *       output   { receipt: paid.output.receipt }
 *       onError  fail
 */
export function graphText(graph: WorkflowGraph): string {
  const nodes = graph.nodes.map((node) => [node.id, whatText(node), afterText(node)]);
  const facts = [
    ["output", filledText(graph.output) || "nothing"],
    ["onError", graph.onError],
    ...successRows(graph.success),
  ];
  return [`${graph.name}, version ${graph.version}`, columns(nodes), columns(facts)].join("\n\n");
}

function whatText(node: GraphNode): string {
  switch (node.kind) {
    case "any":
      return `any of ${sources(node.needs)}`;
    case "quorum":
      return `${node.required} of ${sources(node.needs)}`;
    case "when":
      return `when ${conditionText(node.condition)}`;
    case "task":
    case "workflow":
    case "each":
      return [kindText(node), inputText(node), "task" in node ? optionsText(node) : ""]
        .filter((text) => text !== "")
        .join(" ");
  }
}

function sources(needs: readonly Need[]): string {
  return needs.map(({ node }) => node).join(", ");
}

function inputText({ input }: Extract<GraphNode, { readonly input: unknown }>): string {
  const text = filledText(input);
  return text.length <= LONGEST_INPUT ? text : `${text.slice(0, LONGEST_INPUT - 1)}…`;
}

function optionsText({ queue, priority, goodForMs, goodUntil }: TaskFacts): string {
  const options = [
    queue === null ? "" : `queue ${queue}`,
    priority === null ? "" : `priority ${priority}`,
    goodForMs === null ? "" : `good for ${goodForMs} ms`,
    goodUntil === null
      ? ""
      : `good until ${typeof goodUntil === "string" ? goodUntil : refText(goodUntil)}`,
  ].filter((text) => text !== "");
  return options.length === 0 ? "" : `(${options.join(", ")})`;
}

/** A join is described by its sources. */
function afterText({ kind, needs }: GraphNode): string {
  if (needs.length === 0 || kind === "any" || kind === "quorum") return "";
  const said = needs.map(({ node, accepts }) => (accepts === "end" ? `the end of ${node}` : node));
  return `after ${said.join(", ")}`;
}

function successRows(success: SuccessRule | null): readonly string[][] {
  if (success === null) return [];
  const cases = success.cases?.map((ids) => ids.join(" and ")).join(", or ");
  return [
    ...(cases === undefined ? [] : [["success", `if ${cases} completed`]]),
    ...(success.optional.length === 0 ? [] : [["optional", success.optional.join(", ")]]),
  ];
}

/** All but the last are filled up: a node that comes after a thousand others makes no other line longer. */
function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? [])
    .slice(0, -1)
    .map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "))
    .map((line) => `  ${line.trimEnd()}`)
    .join("\n");
}
