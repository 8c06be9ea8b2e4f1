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

/** Ids are names or numbers or have dashes: they stand as they are, before what is code. */
function nodeText(id: string, part: Hole["part"], at: Hole["at"]): string {
  return `${id}.${valuePath([part, ...at])}`;
}

/** `{ id: input.orderId, tags: ["a"] }`; empty when there is nothing to say. */
export function filledText({ template, holes }: Filled): string {
  if (template === null && holes.length === 0) return "";
  return valueText(template, holes, 0);
}

/** `holes` are those at and below the value, which stands so deep. */
function valueText(value: Json, holes: readonly Hole[], depth: number): string {
  const whole = holes.find(({ path }) => path.length === depth);
  if (whole !== undefined) return refText(whole);
  if (holes.length === 0 || typeof value !== "object" || value === null) return jsonText(value);
  const below = (key: string | number): readonly Hole[] =>
    holes.filter(({ path }) => path[depth] === key);
  if (isList(value)) {
    return `[${value.map((one, index) => valueText(one, below(index), depth + 1)).join(", ")}]`;
  }
  const entries = Object.entries(value).map(
    ([key, one]) => `${keyText(key)}: ${valueText(one, below(key), depth + 1)}`,
  );
  return `{ ${entries.join(", ")} }`;
}

function jsonText(value: Json): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map(jsonText).join(", ")}]`;
  const entries = Object.entries(value).map(([key, one]) => `${keyText(key)}: ${jsonText(one)}`);
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
  return `${refText(value)} is ${not}${jsonText(condition.equals)}`;
}

/** What a node does, without its input. */
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
