/** Mistakes in nodes: their ids, tasks and options. */
import { describe } from "vitest";
import { beside, echo, testProblems, tick } from "../../test/support/loose-flow.ts";
import { defineWorkflow } from "./define-workflow.ts";

const inner = defineWorkflow({ name: "inner", build: (flow) => flow.node("t", tick).output });

describe("flow.node", () => {
  testProblems([
    [
      "NODE_ID_INVALID",
      'nodes["a b"]',
      /1 to 128 letters, digits and _ - : \., found "a b"/,
      () => beside((flow) => void flow.node("a b", tick)),
    ],
    [
      "NODE_ID_INVALID",
      'nodes[""]',
      /found undefined/,
      () => beside((flow) => void flow.node(undefined, tick)),
    ],
    [
      "NODE_ID_INVALID",
      "nodes.$any1",
      /found "\$any1"/,
      () => beside((flow) => void flow.node("$any1", tick)),
    ],
    [
      "NODE_ID_DUPLICATE",
      "nodes.t",
      /the id "t" is taken/,
      () => beside((flow) => void flow.node("t", echo)),
    ],
    [
      "NODE_TASK_INVALID",
      "nodes.x",
      /expected a task, found undefined/,
      () => beside((flow) => void flow.node("x", undefined)),
    ],
    [
      "NODE_TASK_INVALID",
      "nodes.x",
      /found a workflow; use flow\.workflow/,
      () => beside((flow) => void flow.node("x", inner)),
    ],
    [
      "NODE_TASK_INVALID",
      "nodes.x",
      /found a task; use flow\.node/,
      () => beside((flow) => void flow.workflow("x", tick)),
    ],
    [
      "NODE_TASK_INVALID",
      "nodes.x",
      /expected a task, found an object/,
      () => beside((flow, t) => void flow.each("x", {}, t.output, () => null)),
    ],
    [
      "NODE_OPTION_INVALID",
      "nodes.x",
      /unknown option "prioritty"; did you mean "priority"/,
      () => beside((flow) => void flow.node("x", tick, null, { prioritty: 1 })),
    ],
    [
      "NODE_OPTION_INVALID",
      "nodes.x",
      /unknown option "queue"; known: after/,
      () => beside((flow) => void flow.workflow("x", inner, null, { queue: "q" })),
    ],
    [
      "NODE_OPTION_INVALID",
      "nodes.x.priority",
      /from 1 to 100, found 101/,
      () => beside((flow) => void flow.node("x", tick, null, { priority: 101 })),
    ],
    [
      "NODE_OPTION_INVALID",
      "nodes.x.queue",
      /letters, digits and/,
      () => beside((flow) => void flow.node("x", tick, null, { queue: "a b" })),
    ],
    [
      "NODE_OPTION_INVALID",
      "nodes.x.goodForMs",
      /of at least|from 1 to/,
      () => beside((flow) => void flow.node("x", tick, null, { goodForMs: 0 })),
    ],
    [
      "NODE_OPTION_INVALID",
      "nodes.x.goodUntil",
      /expected a Date, an instant in ISO 8601/,
      () => beside((flow) => void flow.node("x", tick, null, { goodUntil: "tomorrow" })),
    ],
    [
      "NODE_OPTION_INVALID",
      "nodes.x.goodUntil",
      /expected a valid Date/,
      () => beside((flow) => void flow.node("x", tick, null, { goodUntil: new Date(Number.NaN) })),
    ],
    [
      "NODE_OPTION_INVALID",
      "nodes.x.goodUntil",
      /goodForMs or goodUntil, found both/,
      () =>
        beside((flow) => void flow.node("x", tick, null, { goodForMs: 5, goodUntil: new Date() })),
    ],
    [
      "NODE_OPTION_INVALID",
      "nodes.x.retry.retryFor[0]",
      /"NOO" is neither a built-in code/,
      () =>
        beside(
          (flow) =>
            void flow.node("x", echo, null, {
              retry: { kind: "fixed", intervalsMs: [1], jitter: true, retryFor: ["NOO"] },
            }),
        ),
    ],
    [
      "NODE_OPTION_INVALID",
      "nodes.x.flags.loud",
      /expected true or false, found a number/,
      () => beside((flow) => void flow.node("x", tick, null, { flags: { loud: 1 } })),
    ],
    [
      "AFTER_INVALID",
      "nodes.x.after",
      /expected a node or a join, found a string/,
      () => beside((flow) => void flow.node("x", tick, null, { after: "t" })),
    ],
    [
      "AFTER_INVALID",
      "nodes.x.after[1]",
      /found a ref; give the node itself/,
      () => beside((flow, t) => void flow.node("x", tick, null, { after: [t, t.output] })),
    ],
    [
      "AFTER_INVALID",
      "flow.output[0]",
      /expected a node or a join, found a ref/,
      () => beside((flow, t) => flow.output(1, [t.output])),
    ],
  ]);
});
