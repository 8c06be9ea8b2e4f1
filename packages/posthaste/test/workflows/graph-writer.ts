/** Writes the nodes of one random graph, one after the other, as an author of a workflow would. */
import type {
  Condition,
  GateKind,
  GraphNode,
  GraphReference,
  Hole,
  Need,
  SuccessRule,
  TaskFacts,
  WorkflowGraph,
} from "../../src/domain/workflow-graph.ts";
import { FilledWriter, type Source } from "./filled-writer.ts";
import type { Random } from "./random.ts";
import { LIST_PATHS, randomComparand, randomInstant } from "./random-values.ts";

export interface Nested {
  readonly reference: GraphReference;
}

type Kind = GraphNode["kind"];
const KINDS: readonly (readonly [Kind, number])[] = [
  ["task", 42],
  ["each", 16],
  ["workflow", 14],
  ["any", 8],
  ["quorum", 8],
  ["when", 12],
];
const NAMES = "abcdefghijklmnopqrstuvwxyz";

export class GraphWriter {
  private readonly random: Random;
  private readonly nested: readonly Nested[];
  private readonly count: number;
  private readonly nodes: GraphNode[] = [];
  private readonly sources: Source[] = [];
  private readonly whens: string[] = [];

  constructor(random: Random, nested: readonly Nested[], count: number) {
    this.random = random;
    this.nested = nested;
    this.count = count;
  }

  write(): Pick<WorkflowGraph, "nodes" | "success" | "output"> {
    // Gates alone are no workflow.
    while (this.nodes.length < this.count - 1) this.writeNode(this.pickKind());
    this.writeNode(this.authored().length === 0 ? "task" : this.pickKind());
    return {
      nodes: this.nodes,
      success: this.success(),
      output: new FilledWriter(this.random, this.sources).filled(),
    };
  }

  private pickKind(): Kind {
    const canJoin = this.sources.length > 0;
    const possible = KINDS.filter(([kind]) => {
      if (kind === "workflow") return this.nested.length > 0;
      return canJoin || (kind !== "any" && kind !== "quorum");
    });
    const total = possible.reduce((sum, [, weight]) => sum + weight, 0);
    let left = this.random.next() * total;
    return possible.find(([, weight]) => (left -= weight) < 0)?.[0] ?? "task";
  }

  private writeNode(kind: Kind): void {
    switch (kind) {
      case "task":
        return this.writeTask();
      case "workflow":
        return this.writeWorkflow();
      case "each":
        return this.writeEach();
      case "any":
      case "quorum":
        return this.writeJoin(kind);
      case "when":
        return this.writeWhen();
    }
  }

  private writeTask(): void {
    const writer = new FilledWriter(this.random, this.sources);
    const input = writer.filled();
    const goodUntil = this.goodUntil(writer);
    const needs = this.needs(writer);
    this.add(
      { ...facts(needs, this.nextName()), kind: "task", ...TASK, goodUntil, input },
      "shape",
    );
  }

  private goodUntil(writer: FilledWriter): TaskFacts["goodUntil"] {
    if (this.random.is(0.04)) return randomInstant();
    if (!this.random.is(0.06)) return null;
    return writer.hole([], { at: ["until"], gives: "shape" });
  }

  private writeWorkflow(): void {
    const writer = new FilledWriter(this.random, this.sources);
    const input = writer.filled();
    const workflow = this.random.pick(this.nested).reference;
    const needs = this.needs(writer);
    this.add({ ...facts(needs, this.nextName()), kind: "workflow", workflow, input }, "shape");
  }

  private writeEach(): void {
    const writer = new FilledWriter(this.random, this.sources);
    const over = this.over(writer);
    const input = writer.filled({ ofItem: true });
    const needs = this.needs(writer);
    const isNested = this.nested.length > 0 && this.random.is(0.35);
    const what = isNested ? { workflow: this.random.pick(this.nested).reference } : TASK;
    this.add({ ...facts(needs, this.nextName()), kind: "each", over, input, ...what }, "list");
  }

  /** The value to fan out over: mostly one that may be an array. */
  private over(writer: FilledWriter): Hole {
    if (this.random.is(0.06)) return writer.hole([]);
    const lists = this.sources.filter(({ gives }) => gives === "list");
    if (lists.length > 0 && this.random.is(0.3)) {
      const source = this.random.pick(lists);
      const part = source.isFanOut && this.random.is(0.4) ? "results" : "output";
      return writer.holeFrom(source, { path: [], part, at: [] });
    }
    return writer.hole([], { at: this.random.pick(LIST_PATHS), gives: "shape" });
  }

  private writeJoin(kind: "any" | "quorum"): void {
    const count = this.random.between(1, Math.min(4, this.sources.length));
    const sources = this.random.sample(this.sources, count);
    const required = kind === "any" ? 1 : this.random.between(1, count);
    const needs = sources.map(({ id }): Need => ({ node: id, accepts: "success" }));
    const isShapes = sources.every(({ gives }) => gives === "shape");
    const gives = kind === "any" && isShapes ? "shape" : "list";
    this.add({ id: this.nextGate(kind), needs, required, kind }, gives);
  }

  /** Writes the gate of a `then`, and often that of an `otherwise`. */
  private writeWhen(): void {
    const writer = new FilledWriter(this.random, this.sources);
    const value = this.conditionValue(writer);
    const comparison = this.random.is(0.35) ? { equals: randomComparand(this.random) } : {};
    const needs = this.needs(writer);
    const isNegated = this.random.is(0.2);
    const hasBoth = this.random.is(0.6) && this.nodes.length + 2 < this.count;
    const branches = hasBoth ? [isNegated, !isNegated] : [isNegated];
    for (const negated of branches) {
      const condition: Condition = { value, ...comparison, negated };
      const id = this.nextGate("when");
      this.nodes.push({ ...facts(needs, id), kind: "when", condition });
      this.whens.push(id);
    }
  }

  private conditionValue(writer: FilledWriter): Hole {
    const withResult = this.sources.filter(({ hasResult }) => hasResult);
    if (withResult.length > 0 && this.random.is(0.15)) {
      const at = this.random.pick([["ok"], ["error", "code"], ["value", "flag"]]);
      return writer.holeFrom(this.random.pick(withResult), { path: [], part: "result", at });
    }
    return writer.hole([]);
  }

  /** The needs of the holes, of the branch of the node, and of `after`. */
  private needs(writer: FilledWriter): readonly Need[] {
    if (this.whens.length > 0 && this.random.is(0.25)) {
      writer.need(this.random.pick(this.whens), "success");
    }
    if (this.sources.length > 0 && this.random.is(0.2)) {
      writer.need(this.random.pick(this.sources).id, "success");
    }
    return writer.needs;
  }

  private add(node: GraphNode, gives: Source["gives"]): void {
    const isGate = node.kind === "any" || node.kind === "quorum";
    this.nodes.push(node);
    this.sources.push({ id: node.id, gives, hasResult: !isGate, isFanOut: node.kind === "each" });
  }

  private nextName(): string {
    return NAMES[this.authored().length] ?? `n${this.nodes.length}`;
  }

  private nextGate(kind: GateKind): string {
    return `$${kind}${this.nodes.filter((node) => node.kind === kind).length + 1}`;
  }

  private authored(): string[] {
    return this.nodes.map(({ id }) => id).filter((id) => !id.startsWith("$"));
  }

  private success(): SuccessRule | null {
    if (this.random.is(0.6)) return null;
    const ids = this.authored();
    if (this.random.is(0.5)) return { cases: null, optional: this.random.some(ids, 0.4) };
    const cases = Array.from({ length: this.random.between(1, 3) }, () =>
      this.random.sample(ids, this.random.between(1, Math.min(3, ids.length))),
    );
    const others = ids.filter((id) => !cases.flat().includes(id));
    return { cases, optional: this.random.is(0.5) ? this.random.some(others, 0.5) : [] };
  }
}

/** The task of all nodes: the driver of the run decides how it ends. */
const TASK: TaskFacts = {
  task: "outcome",
  queue: "default",
  priority: 100,
  options: null,
  flags: null,
  goodForMs: null,
  goodUntil: null,
};

function facts(
  needs: readonly Need[],
  id: string,
): { readonly id: string; readonly needs: readonly Need[]; readonly required: number } {
  return { id, needs, required: needs.length };
}
