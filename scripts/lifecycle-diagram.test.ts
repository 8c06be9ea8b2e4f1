import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { taskLifecycle } from "../packages/posthaste/src/domain/task-lifecycle.ts";
import { diagramOf, withDiagram } from "./lifecycle-diagram.ts";

const architecture = readFileSync(new URL("../ARCHITECTURE.md", import.meta.url), "utf8");

test("a task begins where an edge comes from nowhere and ends where none leaves; parallel edges share an arrow", () => {
  const diagram = diagramOf({
    open: { from: [], to: "OPEN" },
    close: { from: ["OPEN"], to: "SHUT" },
    slam: { from: ["OPEN"], to: "SHUT" },
    burn: { from: ["OPEN", "SHUT"], to: "GONE" },
  });

  expect(diagram.split("\n")).toEqual([
    "```mermaid",
    "stateDiagram-v2",
    "  [*] --> OPEN: open",
    "  OPEN --> SHUT: close, slam",
    "  OPEN --> GONE: burn",
    "  SHUT --> GONE: burn",
    "  GONE --> [*]",
    "```",
  ]);
});

test("only what stands between the markers is replaced, and replacing it again changes nothing", () => {
  const changed = withDiagram(architecture, "the new one");

  expect(changed).toContain("do not edit -->\nthe new one\n<!--");
  expect(withDiagram(changed, "the new one")).toBe(changed);
  expect(withDiagram(changed, diagramOf(taskLifecycle))).toBe(architecture);
});

test("a document without markers is refused", () => {
  expect(() => withDiagram("# Nothing here", "a diagram")).toThrow(/lifecycle diagram: end/);
});

/** The table that says which statement makes which move: the edge of each row, and the files it names. */
const [, moves = ""] = architecture.split("## Which statement moves what");
const [table = ""] = moves.split("\n## ");
const rows = [...table.matchAll(/^\| `(\w+)` \|(.*)$/gm)].map(([, edge = "", rest = ""]) => ({
  edge,
  files: [...rest.matchAll(/`([\w-]+\.ts)`/g)].map(([, file = ""]) => file),
}));

test("the table of moves in ARCHITECTURE.md has every edge once, and the statements it names exist", () => {
  expect(rows.map(({ edge }) => edge)).toEqual(Object.keys(taskLifecycle));

  const queries = new URL("../packages/posthaste/src/store/queries/", import.meta.url);
  const named = new Set(rows.flatMap(({ files }) => files));
  expect(named.size).toBeGreaterThan(4);
  const exist = readdirSync(queries, { recursive: true, encoding: "utf8" }).map((path) =>
    basename(path),
  );
  expect([...named].filter((file) => !exist.includes(file))).toEqual([]);
});
