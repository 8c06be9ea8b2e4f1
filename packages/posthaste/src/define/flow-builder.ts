/** Makes the `flow` for `build`: passes its calls to the draft. */
import { addBranches, addJoin, equalsCondition, notCondition } from "./flow-gates.ts";
import { addEachNode, addTaskNode, addWorkflowNode } from "./flow-nodes.ts";
import type { Flow } from "./flow.ts";
import type { GraphDraft } from "./graph-draft.ts";

interface OutputFacts {
  readonly value: unknown;
  readonly nodes: unknown;
}

const outputs = new WeakMap<object, OutputFacts>();

/** The argument of `flow.output`, if this is its return value. */
export function outputFacts(value: unknown): OutputFacts | undefined {
  return typeof value === "object" && value !== null ? outputs.get(value) : undefined;
}

export function makeFlow(draft: GraphDraft): Flow {
  const flow = {
    node: (id: unknown, runs: unknown, input: unknown, options: unknown) =>
      addTaskNode(draft, { id, runs, input, options }),
    workflow: (id: unknown, runs: unknown, input: unknown, options: unknown) =>
      addWorkflowNode(draft, { id, runs, input, options }),
    each: (...[id, runs, over, mapper, options]: unknown[]) =>
      addEachNode(draft, { id, runs, over, mapper, options }),
    any: (sources: unknown) => addJoin(draft, "any", 1, sources),
    quorum: (needed: unknown, sources: unknown) => addJoin(draft, "quorum", needed, sources),
    when: (condition: unknown, then: unknown, otherwise: unknown) =>
      addBranches(draft, condition, then, otherwise),
    equals: equalsCondition,
    not: notCondition,
    output(value: unknown, nodes: unknown) {
      const output = Object.freeze({});
      outputs.set(output, { value, nodes });
      return output;
    },
  };
  // The types of refs exist only for the compiler.
  return Object.freeze(flow) as unknown as Flow;
}
