/** Mistakes in fan-outs, joins and conditions. */
import { describe } from "vitest";
import { beside, echo, testProblems, tick, type Loose } from "../../test/support/loose-flow.ts";

const leaked: { item?: Loose } = {};

describe("fan-outs, joins and conditions", () => {
  testProblems([
    [
      "ITEM_REF_OUTSIDE",
      "nodes.y.input.sku",
      /item\.sku of a fan-out can be used only in the value that its own function returns/,
      () =>
        beside((flow, t) => {
          flow.each("x", echo, t.output, (item: Loose) => (leaked.item = item));
          flow.node("y", echo, { sku: leaked.item.sku });
        }),
    ],
    [
      "ITEM_REF_OUTSIDE",
      "nodes.y.input",
      /item of a fan-out/,
      () =>
        beside((flow, t) => {
          flow.each("x", echo, t.output, (item: Loose) => (leaked.item = item));
          flow.each("y", echo, t.output, () => leaked.item);
        }),
    ],
    [
      "EACH_INVALID",
      "nodes.x.over",
      /expected a ref to a list, found an array; for items that are known already/,
      () => beside((flow) => void flow.each("x", echo, [1, 2], () => 1)),
    ],
    [
      "EACH_INVALID",
      "nodes.x.over",
      /expected a ref to a list, found an array/,
      () => beside((flow, t) => void flow.each("x", echo, [t.output], () => 1)),
    ],
    [
      "EACH_INVALID",
      "nodes.x.input",
      /expected a function for the input of an item, found an object/,
      () => beside((flow, t) => void flow.each("x", echo, t.output, {})),
    ],
    [
      "EACH_INVALID",
      "",
      /flow\.node was called in the function for the input of an item/,
      () =>
        beside((flow, t) => void flow.each("x", echo, t.output, () => flow.node("y", tick).output)),
    ],
    [
      "JOIN_SOURCE_INVALID",
      "flow.any",
      /found an empty list/,
      () => beside((flow) => void flow.any([])),
    ],
    [
      "JOIN_SOURCE_INVALID",
      "flow.quorum",
      /expected a list of nodes, found an object/,
      () => beside((flow, t) => void flow.quorum(1, t)),
    ],
    [
      "JOIN_SOURCE_INVALID",
      "flow.any[0]",
      /expected a node or a join, found null/,
      () => beside((flow) => void flow.any([null])),
    ],
    [
      "JOIN_SOURCE_INVALID",
      "flow.quorum[1]",
      /the node "t" is listed twice/,
      () => beside((flow, t) => void flow.quorum(1, [t, t])),
    ],
    [
      "QUORUM_INVALID",
      "flow.quorum",
      /from 1 to 1, the number of its sources, found 2/,
      () => beside((flow, t) => void flow.quorum(2, [t])),
    ],
    [
      "QUORUM_INVALID",
      "flow.quorum",
      /found 0/,
      () => beside((flow, t) => void flow.quorum(0, [t])),
    ],
    [
      "QUORUM_INVALID",
      "flow.quorum",
      /found a string/,
      () => beside((flow, t) => void flow.quorum("1", [t])),
    ],
    [
      "CONDITION_INVALID",
      "flow.when",
      /expected a ref or flow\.equals\(ref, value\), found a boolean; for a value that is known already use an if statement/,
      () => beside((flow) => void flow.when(true, () => 1)),
    ],
    [
      "CONDITION_INVALID",
      "flow.equals",
      /found a ref; compare two refs in a task/,
      () => beside((flow, t) => void flow.when(flow.equals(t.output, t.output), () => 1)),
    ],
    [
      "CONDITION_INVALID",
      "flow.equals.at",
      /found a Date/,
      () => beside((flow, t) => void flow.when(flow.equals(t.output, { at: new Date() }), () => 1)),
    ],
    [
      "CONDITION_INVALID",
      "flow.equals",
      /expected a value, found undefined, which JSON cannot hold/,
      () => beside((flow, t) => void flow.when(flow.equals(t.output, undefined), () => 1)),
    ],
    [
      "BRANCH_INVALID",
      "flow.when",
      /expected a function that makes nodes, found an object/,
      () => beside((flow, t) => void flow.when(t.output, t)),
    ],
  ]);
});
