/** Graphs as Mermaid flowcharts: GitHub, GitLab and most editors draw them. */
import { kindText } from "./graph-words.ts";
import type { GraphNode, WorkflowGraph } from "./workflow-graph.ts";

/** One chart; several graphs become boxes in it. Solid arrows need success, dotted ones only the end. */
export function graphMermaid(graphs: readonly WorkflowGraph[]): string {
  const [only] = graphs;
  const lines =
    graphs.length === 1 && only !== undefined
      ? graphLines(only, "n")
      : graphs.flatMap((graph, index) => [
          `subgraph w${index}["${escaped(`${graph.name}, version ${graph.version}`)}"]`,
          ...graphLines(graph, `w${index}n`).map((line) => `  ${line}`),
          "end",
        ]);
  return ["flowchart TD", ...lines.map((line) => `  ${line}`)].join("\n");
}

/** Ids of nodes may be words of Mermaid's: numbers stand for them. */
function graphLines({ nodes }: WorkflowGraph, prefix: string): readonly string[] {
  const numbers = new Map(nodes.map(({ id }, index) => [id, `${prefix}${index}`]));
  const drawn = nodes.map((node) => `${numbers.get(node.id)}${shape(node)}`);
  const arrows = nodes.flatMap(({ id, needs }) =>
    needs.map(({ node, accepts }) => {
      const arrow = accepts === "end" ? "-.->" : "-->";
      return `${numbers.get(node)} ${arrow} ${numbers.get(id)}`;
    }),
  );
  return [...drawn, ...arrows];
}

function shape(node: GraphNode): string {
  const what = escaped(kindText(node));
  switch (node.kind) {
    case "task":
      return `["${escaped(node.id)}<br/>${what}"]`;
    case "workflow":
    case "each":
      return `[["${escaped(node.id)}<br/>${what}"]]`;
    case "any":
    case "quorum":
      return `{{"${what}"}}`;
    case "when":
      return `{"${what}"}`;
  }
}

/** Names may hold any printable character: in a label, those that mean something are written as numbers. */
function escaped(text: string): string {
  return text.replaceAll(/["#&;<>`\\{}[\]|]/g, (character) => `#${character.charCodeAt(0)};`);
}
