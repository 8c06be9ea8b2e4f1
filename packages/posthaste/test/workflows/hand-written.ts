/** Small graphs for tests, written as a person would: refs in inputs, and needs that follow from them. */
import type { Json } from "../../src/domain/json.ts";
import type {
  EachNode,
  Filled,
  GraphNode,
  Hole,
  JoinNode,
  Need,
  SuccessRule,
  TaskNode,
  WhenNode,
  WorkflowGraph,
  WorkflowNode,
} from "../../src/domain/workflow-graph.ts";
import type { Outcomes, TaskEnd } from "./picture.ts";
import { digestOf } from "./random-graphs.ts";

export class Ref {
  readonly from: string;
  readonly part: Hole["part"];
  readonly at: Hole["at"];

  constructor(from: string, part: Hole["part"], at: Hole["at"]) {
    this.from = from;
    this.part = part;
    this.at = at;
  }

  hole(path: Hole["path"]): Hole {
    return { path, from: this.from, part: this.part, at: this.at };
  }
}

export const output = (from: string, ...at: Hole["at"]): Ref => new Ref(from, "output", at);
export const result = (from: string, ...at: Hole["at"]): Ref => new Ref(from, "result", at);
export const results = (from: string, ...at: Hole["at"]): Ref => new Ref(from, "results", at);

export type Written =
  | null
  | boolean
  | number
  | string
  | Ref
  | readonly Written[]
  | { readonly [key: string]: Written };

interface Options {
  /** Needs success: `after`, or the gate of a `when`. */
  readonly after?: readonly string[];
}

export function task(
  id: string,
  input: Written = null,
  options: Options & { readonly goodUntil?: string | Ref } = {},
): TaskNode {
  const { goodUntil = null } = options;
  const deadline = goodUntil instanceof Ref ? goodUntil.hole([]) : goodUntil;
  const refs = goodUntil instanceof Ref ? [goodUntil] : [];
  const needs = needsOf([...refsIn(input), ...refs], options);
  return { id, ...needs, kind: "task", ...TASK, goodUntil: deadline, input: filled(input) };
}

export function nested(
  id: string,
  graph: WorkflowGraph,
  input: Written = null,
  options: Options = {},
): WorkflowNode {
  const workflow = { name: graph.name, version: graph.version, digest: digestOf(graph) };
  const needs = needsOf(refsIn(input), options);
  return { id, ...needs, kind: "workflow", workflow, input: filled(input) };
}

export function each(
  id: string,
  over: Ref,
  input: Written = null,
  options: Options & { readonly of?: WorkflowGraph } = {},
): EachNode {
  const needs = needsOf([over, ...refsIn(input)], options);
  const facts = { id, ...needs, kind: "each" as const, over: over.hole([]), input: filled(input) };
  const { of: graph } = options;
  if (graph === undefined) return { ...facts, ...TASK };
  const workflow = { name: graph.name, version: graph.version, digest: digestOf(graph) };
  return { ...facts, workflow };
}

export function anyOf(id: string, ...sources: string[]): JoinNode {
  return { id, kind: "any", needs: successOf(sources), required: 1 };
}

export function quorum(id: string, required: number, ...sources: string[]): JoinNode {
  return { id, kind: "quorum", needs: successOf(sources), required };
}

export function when(
  id: string,
  value: Ref,
  options: Options & { readonly equals?: Json; readonly negated?: boolean } = {},
): WhenNode {
  const { equals, negated = false } = options;
  const comparison = equals === undefined ? {} : { equals };
  const condition = { value: value.hole([]), ...comparison, negated };
  return { id, ...needsOf([value], options), kind: "when", condition };
}

export function graphOf(
  nodes: readonly GraphNode[],
  more: {
    readonly output?: Written;
    readonly onError?: "fail" | "pause";
    readonly success?: Partial<SuccessRule>;
  } = {},
): WorkflowGraph {
  const { onError = "fail", success } = more;
  return {
    format: 1,
    name: "hand-written",
    version: 1,
    onError,
    success: success === undefined ? null : { cases: null, optional: [], ...success },
    nodes,
    output: filled(more.output ?? null),
  };
}

/** Tasks that are not named are COMPLETED with their own path. */
export function ends(named: { readonly [path: string]: TaskEnd }): Outcomes {
  return (path) => named[path] ?? ok(path);
}

export const ok = (value: Json): TaskEnd => ({ ok: true, value });
export const failed = (code = "REFUSED"): TaskEnd => ({
  ok: false,
  status: "FAILED",
  error: { code, message: "no" },
});
export const EXPIRED: TaskEnd = { ok: false, status: "EXPIRED" };
export const CANCELLED: TaskEnd = { ok: false, status: "CANCELLED" };

const TASK = {
  task: "outcome",
  queue: "default",
  priority: 100,
  options: null,
  flags: null,
  goodForMs: null,
  goodUntil: null,
};

function filled(written: Written): Filled {
  const holes: Hole[] = [];
  const template = (part: Written, path: Hole["path"]): Json => {
    if (part instanceof Ref) {
      holes.push(part.hole(path));
      return null;
    }
    if (typeof part !== "object" || part === null) return part;
    if (Array.isArray(part)) {
      return (part as readonly Written[]).map((inner, index) => template(inner, [...path, index]));
    }
    const inner = Object.entries(part as { readonly [key: string]: Written });
    return Object.fromEntries(inner.map(([key, value]) => [key, template(value, [...path, key])]));
  };
  return { template: template(written, []), holes };
}

function refsIn(written: Written): Ref[] {
  if (written instanceof Ref) return [written];
  if (typeof written !== "object" || written === null) return [];
  return Object.values(written).flatMap(refsIn);
}

function successOf(ids: readonly string[]): Need[] {
  return ids.map((node) => ({ node, accepts: "success" }));
}

/** Rule 4: success wins over end. */
function needsOf(refs: readonly Ref[], options: Options): Pick<GraphNode, "needs" | "required"> {
  const needed = new Map<string, Need["accepts"]>();
  for (const { from, part } of refs) {
    const isOfNode = !["$input", "$item", "$index"].includes(from);
    const accepts = part === "output" ? "success" : "end";
    if (isOfNode && needed.get(from) !== "success") needed.set(from, accepts);
  }
  for (const id of options.after ?? []) needed.set(id, "success");
  const needs = [...needed].map(([node, accepts]) => ({ node, accepts }));
  return { needs, required: needs.length };
}
