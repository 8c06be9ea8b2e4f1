/**
 * Draws the life of a task into ARCHITECTURE.md, between two marker comments, from the table of edges in
 * packages/posthaste/src/domain/task-lifecycle.ts. `--check` only compares, for CI.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { taskLifecycle } from "../packages/posthaste/src/domain/task-lifecycle.ts";

export type Edges = Readonly<
  Record<
    string,
    { readonly from: readonly string[]; readonly to: string; readonly isOperators?: true }
  >
>;

const target = new URL("../ARCHITECTURE.md", import.meta.url);

const BEGIN = "<!-- lifecycle diagram: made by scripts/lifecycle-diagram.ts, do not edit -->";
const END = "<!-- lifecycle diagram: end -->";

/**
 * A Mermaid state diagram. Edges with the same ends share one arrow, or the picture is a thicket. A status is terminal if only an
 * operator's edge leaves it.
 */
export function diagramOf(edges: Edges): string {
  const arrows = new Map<string, string[]>();
  for (const [edge, { from, to, isOperators = false }] of Object.entries(edges)) {
    for (const source of from.length === 0 ? ["[*]"] : from) {
      const arrow = `${source} --> ${to}`;
      arrows.set(arrow, [...(arrows.get(arrow) ?? []), isOperators ? `${edge} (operator)` : edge]);
    }
  }
  const left = new Set(
    Object.values(edges).flatMap(({ from, isOperators }) => (isOperators ? [] : from)),
  );
  const reached = new Set(Object.values(edges).map(({ to }) => to));
  const terminal = [...reached].filter((status) => !left.has(status));
  const lines = [
    ...[...arrows].map(([arrow, names]) => `${arrow}: ${names.join(", ")}`),
    ...terminal.map((status) => `${status} --> [*]`),
  ];
  return ["```mermaid", "stateDiagram-v2", ...lines.map((line) => `  ${line}`), "```"].join("\n");
}

/** The document with what stands between the markers replaced. */
export function withDiagram(document: string, diagram: string): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END, begin);
  if (begin < 0 || end < 0) throw new Error(`expected "${BEGIN}" and "${END}" in the document`);
  return `${document.slice(0, begin)}${BEGIN}\n${diagram}\n${document.slice(end)}`;
}

function main(): void {
  const document = readFileSync(target, "utf8");
  const text = withDiagram(document, diagramOf(taskLifecycle));
  if (!process.argv.includes("--check")) writeFileSync(target, text);
  else if (document !== text) {
    console.error(
      "the diagram in ARCHITECTURE.md is out of date: run `tsx scripts/lifecycle-diagram.ts`",
    );
    process.exitCode = 1;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main();
