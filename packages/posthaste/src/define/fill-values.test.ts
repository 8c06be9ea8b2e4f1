/** Mistakes in the values of inputs and of the output. */
import { describe, expect, test } from "vitest";
import { beside, built, echo, testProblems, type Loose } from "../../test/support/loose-flow.ts";

/** Kept from another build, on purpose. */
const leaked: { flow?: Loose; node?: Loose } = {};
built((flow) => {
  leaked.flow = flow;
  leaked.node = flow.node("leaked", echo);
});

describe("workflow values", () => {
  testProblems([
    [
      "INPUT_NOT_JSON",
      "nodes.x.input.list[0].at",
      /found a Date: send \.toISOString\(\)/,
      () => beside((flow) => void flow.node("x", echo, { list: [{ at: new Date() }] })),
    ],
    [
      "INPUT_NOT_JSON",
      "nodes.x.input.self.self.self.self",
      /found a cycle/,
      () =>
        beside((flow) => {
          const self: Loose = {};
          self.self = { self };
          flow.node("x", echo, self);
        }),
    ],
    [
      "INPUT_NOT_JSON",
      "nodes.x.input",
      /found a Map/,
      () => beside((flow, t) => void flow.each("x", echo, t.output, () => new Map())),
    ],
    [
      "NODE_AS_VALUE",
      "nodes.x.input.a[1]",
      /found the node "t"; use its \.output/,
      () => beside((flow, t) => void flow.node("x", echo, { a: [1, t] })),
    ],
    ["NODE_AS_VALUE", "output.t", /found the node "t"/, () => beside((_flow, t) => ({ t }))],
    [
      "REF_AS_VALUE",
      "build",
      /^t\.output\.name was turned into a text or a number, or compared/,
      () => beside((flow, t) => void flow.node("x", echo, `Dear ${t.output.name}`)),
    ],
    [
      "REF_FOREIGN",
      "nodes.x.input.a",
      /leaked\.output is a ref of another workflow; to nest a workflow use flow\.workflow/,
      () => beside((flow) => void flow.node("x", echo, { a: leaked.node.output })),
    ],
    [
      "REF_FOREIGN",
      "nodes.x.after",
      /the node "leaked" belongs to another workflow/,
      () => beside((flow) => void flow.node("x", echo, 1, { after: leaked.node })),
    ],
    [
      "REF_FOREIGN",
      "nodes.x.goodUntil",
      /leaked\.output/,
      () => beside((flow) => void flow.node("x", echo, 1, { goodUntil: leaked.node.output })),
    ],
    [
      "REF_FOREIGN",
      "flow.any[1]",
      /"leaked"/,
      () => beside((flow, t) => void flow.any([t, leaked.node])),
    ],
    [
      "REF_FOREIGN",
      "flow.when",
      /leaked\.output/,
      () => beside((flow) => void flow.when(leaked.node.output, () => 1)),
    ],
    ["REF_FOREIGN", "output", /leaked\.output/, () => beside(() => leaked.node.output)],
    ["OUTPUT_INVALID", "output.at", /found a Date/, () => beside(() => ({ at: new Date() }))],
  ]);

  test("flow does nothing after its build", () => {
    const problem = /flow\.node was called after build of workflow "w" had returned/;
    expect(() => leaked.flow.node("late", echo)).toThrow(problem);
  });

  test("an async build that goes on later fails silently: its mistake was reported", async () => {
    let late: unknown;
    const problems = beside(async (flow) => {
      await Promise.resolve();
      try {
        flow.node("late", echo);
      } catch (error) {
        late = error;
        throw error;
      }
    });

    expect(problems).toMatchObject([{ code: "BUILD_ASYNC" }]);
    await new Promise(setImmediate);
    expect(late).toBeInstanceOf(Error);
  });
});
