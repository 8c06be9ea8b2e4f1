/** The parts of a graph in words, as an author would write them. */
import type { Json } from "./json.ts";
import { valuePath } from "./value-path.ts";
import type { Condition, Filled, GraphNode, Hole } from "./workflow-graph.ts";

const GATE = /^\$(?:any|quorum|when)\d+$/;

/** `order.output.total`, `input.orderId`, `item.sku`. */
export function refText({ from, part, at }: Omit<Hole, "path">): string {
  const isNode = GATE.test(from) || !from.startsWith("$");
  return isNode ? nodeText(from, part, at) : valuePath([from.slice(1), ...at]);
}

/** Ids are names, numbers or have dashes, and are written as they are. */
function nodeText(id: string, part: Hole["part"], at: Hole["at"]): string {
  return `${id}.${valuePath([part, ...at])}`;
}

/** `{ id: input.orderId, tags: ["a"] }`; empty when there is nothing to say. */
export function filledText({ template, holes }: Filled): string {
  if (template === null && holes.length === 0) return "";
  const refs = new Map(holes.map((hole) => [JSON.stringify(hole.path), refText(hole)]));
  return valueText(template, refs, []);
}

/** `refs` are the texts of refs, by the paths at which they stand. */
function valueText(value: Json, refs: ReadonlyMap<string, string>, path: Hole["path"]): string {
  const ref = refs.get(JSON.stringify(path));
  if (ref !== undefined) return ref;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (isList(value)) {
    return `[${value.map((one, index) => valueText(one, refs, [...path, index])).join(", ")}]`;
  }
  const entries = Object.entries(value).map(
    ([key, one]) => `${keyText(key)}: ${valueText(one, refs, [...path, key])}`,
  );
  return entries.length === 0 ? "{}" : `{ ${entries.join(", ")} }`;
}

function keyText(key: string): string {
  const text = valuePath([key]);
  return text.startsWith("[") ? text.slice(1, -1) : text;
}

/** Array.isArray does not narrow a union with a readonly array. */
function isList(value: object): value is readonly Json[] {
  return Array.isArray(value);
}

export function conditionText(condition: Condition): string {
  const { value, negated } = condition;
  const not = negated ? "not " : "";
  if (condition.equals === undefined) return `${not}${refText(value)}`;
  return `${refText(value)} is ${not}${valueText(condition.equals, new Map(), [])}`;
}

/** A node in words, without its input. */
export function kindText(node: GraphNode): string {
  switch (node.kind) {
    case "task":
      return node.task;
    case "workflow":
      return `workflow ${node.workflow.name}`;
    case "each":
      return `each of ${refText(node.over)}: ${"task" in node ? node.task : `workflow ${node.workflow.name}`}`;
    case "any":
      return "any";
    case "quorum":
      return `${node.required} of ${node.needs.length}`;
    case "when":
      return `when ${conditionText(node.condition)}`;
  }
}
