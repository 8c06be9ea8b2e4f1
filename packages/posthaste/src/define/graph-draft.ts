/** The graph while `build` writes it, with everything that is wrong with it. */
import { PosthasteError } from "../domain/errors.ts";
import { graphDigest } from "../domain/graph-digest.ts";
import { article, quoted } from "../domain/names.ts";
import { valuePath } from "../domain/value-path.ts";
import type { GateKind, GraphNode, GraphReference, Hole, Need } from "../domain/workflow-graph.ts";
import { mergedNeeds, type RefScope } from "./fill-values.ts";
import { handleFacts, makeHandle, makeRef, refFacts, type HandleFacts } from "./refs.ts";
import type { AnyContract } from "./task.ts";
import type { WorkflowProblem, WorkflowProblemCode } from "./workflow-problem.ts";
import type { AnyWorkflow } from "./workflow.ts";

const NODE_ID = /^[A-Za-z0-9_\-:.]{1,128}$/;

export class GraphDraft implements RefScope {
  readonly nodes: GraphNode[] = [];
  readonly problems: WorkflowProblem[] = [];
  /** The workflows that are nested directly, and how the graph names them. */
  readonly children = new Map<AnyWorkflow, GraphReference>();
  readonly tasks = new Set<AnyContract>();
  /** Every id that was tried, so that a node with a mistake is not reported as missing, too. */
  readonly ids = new Set<string>();
  /** Refs that were made here know it by this. */
  readonly build: object = this;
  readonly #name: string;
  #isOpen = true;
  #isMapping = false;
  /** The condition under which nodes are made at the moment. */
  #gate: string | undefined;
  #gateCount = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** From now on, calls of `flow` throw: the graph is complete. */
  close(): void {
    this.#isOpen = false;
  }

  /** To be called first by everything that adds to the graph. */
  begin(method: string): void {
    if (!this.#isOpen) {
      const message = `flow.${method} was called after build of workflow ${quoted(this.#name)} had returned; call it before build returns`;
      throw new PosthasteError("DEFINITION_INVALID", message);
    }
    if (this.#isMapping) {
      const message = `flow.${method} was called in the function for the input of an item; to give every item nodes of its own, nest a workflow`;
      this.complain("EACH_INVALID", "", message);
    }
  }

  complain(code: WorkflowProblemCode, path: string, message: string): void {
    this.problems.push({ code, path, message });
  }

  /** The id to go on with, whatever was given. */
  readId(given: unknown): string {
    const id = typeof given === "string" ? given : "";
    if (!NODE_ID.test(id)) {
      const found = typeof given === "string" ? quoted(given) : article(given);
      const message = `expected 1 to 128 letters, digits and _ - : ., found ${found}`;
      this.complain("NODE_ID_INVALID", nodePath(id), message);
    } else if (this.ids.has(id)) {
      this.complain(
        "NODE_ID_DUPLICATE",
        nodePath(id),
        `the id ${quoted(id)} is taken by another node`,
      );
    }
    return id;
  }

  /** `$any1`, `$quorum2`, `$when3`: ids of gates. */
  nextGateId(kind: GateKind): string {
    this.#gateCount += 1;
    return `$${kind}${this.#gateCount}`;
  }

  /** A node with a used id is left out; its problem is already reported. */
  add(node: GraphNode): void {
    if (!this.ids.has(node.id)) this.nodes.push(node);
    this.ids.add(node.id);
  }

  /** Everything that a node needs, and all of it. */
  allOf(needs: readonly Need[]): Pick<GraphNode, "needs" | "required"> {
    const gate: Need[] = this.#gate === undefined ? [] : [{ node: this.#gate, accepts: "success" }];
    const merged = mergedNeeds([...needs, ...gate]);
    return { needs: merged, required: merged.length };
  }

  /** Where a join stands. */
  get standing(): { readonly gate?: string } {
    return this.#gate === undefined ? {} : { gate: this.#gate };
  }

  /** Runs a branch of `flow.when`. */
  under<Made>(gate: string, make: () => Made): Made {
    const outer = this.#gate;
    this.#gate = gate;
    try {
      return make();
    } finally {
      this.#gate = outer;
    }
  }

  /** Runs the function for the input of an item, which makes no nodes. */
  mapping<Made>(map: () => Made): Made {
    this.#isMapping = true;
    try {
      return map();
    } finally {
      this.#isMapping = false;
    }
  }

  ref(from: string, part: Hole["part"], mapper?: object): object {
    return makeRef({ build: this, from, part, at: [], ...(mapper && { mapper }) });
  }

  /** The author's view of a node. */
  handle(id: string, more: object = {}): object {
    this.ids.add(id);
    const output = this.ref(id, "output");
    const result = this.ref(id, "result");
    return makeHandle({ build: this, id }, { id, output, result, ...more });
  }

  reference(workflow: AnyWorkflow): GraphReference {
    const { name, version, graph } = workflow;
    const reference = this.children.get(workflow) ?? { name, version, digest: graphDigest(graph) };
    this.children.set(workflow, reference);
    return reference;
  }

  /** The requirements of `after`. */
  after(given: unknown, path: string): readonly Need[] {
    if (given === undefined) return [];
    const isList = Array.isArray(given);
    return (isList ? (given as unknown[]) : [given]).flatMap((one, index) => {
      const facts = this.followed("AFTER_INVALID", one, isList ? `${path}[${index}]` : path);
      if (facts === undefined) return [];
      const ids = facts.gate === undefined ? [facts.id] : [facts.id, facts.gate];
      return ids.map((node): Need => ({ node, accepts: "success" }));
    });
  }

  /** A node or a join of this build. */
  followed(code: WorkflowProblemCode, value: unknown, path: string): HandleFacts | undefined {
    const facts = handleFacts(value);
    if (facts === undefined) {
      const found = refFacts(value) === undefined ? article(value) : "a ref; give the node itself";
      this.complain(code, path, `expected a node or a join, found ${found}`);
      return undefined;
    }
    if (facts.build === this) return facts;
    const message = `the node ${quoted(facts.id)} belongs to another workflow; to nest a workflow use flow.workflow(…)`;
    this.complain("REF_FOREIGN", path, message);
    return undefined;
  }
}

export function nodePath(id: string): string {
  return valuePath(["nodes", id]);
}
