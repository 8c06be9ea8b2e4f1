/** Mistakes in the options of a workflow, and in its build as a whole. */
import { describe, expect, test } from "vitest";
import { PosthasteError } from "../domain/errors.ts";
import {
  beside,
  built,
  defineLoosely,
  testProblems,
  tick,
  type Loose,
} from "../../test/support/loose-flow.ts";
import { defineWorkflow } from "./define-workflow.ts";
import type { WorkflowProblem } from "./workflow-problem.ts";

function withOptions(options: object): readonly WorkflowProblem[] {
  const build = (flow: Loose): void => void flow.node("t", tick);
  return defineLoosely({ name: "w", build, ...options }).problems;
}

describe("workflow option rules", () => {
  testProblems([
    [
      "WORKFLOW_OPTION_INVALID",
      "",
      /unknown option "bild"; did you mean "build"\?/,
      () => withOptions({ bild: 1 }),
    ],
    [
      "WORKFLOW_OPTION_INVALID",
      "build",
      /expected a function, found undefined/,
      () => defineLoosely({ name: "w" }).problems,
    ],
    [
      "WORKFLOW_OPTION_INVALID",
      "input",
      /expected a Standard Schema/,
      () => withOptions({ input: undefined }),
    ],
    [
      "WORKFLOW_OPTION_INVALID",
      "onError",
      /expected "fail" or "pause", found "stop"/,
      () => withOptions({ onError: "stop" }),
    ],
    [
      "WORKFLOW_OPTION_INVALID",
      "success",
      /expected an object/,
      () => withOptions({ success: [] }),
    ],
    [
      "WORKFLOW_OPTION_INVALID",
      "success",
      /unknown option "case"; did you mean "cases"\?/,
      () => withOptions({ success: { case: [] } }),
    ],
    [
      "WORKFLOW_OPTION_INVALID",
      "success.cases",
      /expected a list of lists/,
      () => withOptions({ success: { cases: "t" } }),
    ],
    [
      "WORKFLOW_OPTION_INVALID",
      "success.optional",
      /expected a list of node ids/,
      () => withOptions({ success: { optional: "t" } }),
    ],
    [
      "WORKFLOW_NAME_INVALID",
      "name",
      /expected 1 to 255 characters, found none/,
      () => withOptions({ name: "" }),
    ],
    [
      "WORKFLOW_NAME_INVALID",
      "name",
      /expected a string, found undefined/,
      () => withOptions({ name: undefined }),
    ],
    [
      "WORKFLOW_VERSION_INVALID",
      "version",
      /expected a whole number from 1 to 2147483647, found 0/,
      () => withOptions({ version: 0 }),
    ],
    ["WORKFLOW_VERSION_INVALID", "version", /found "2"/, () => withOptions({ version: "2" })],
    ["WORKFLOW_EMPTY", "build", /at least one node/, () => built(() => 1)],
    [
      "WORKFLOW_EMPTY",
      "build",
      /at least one node/,
      () => built((flow, input) => void flow.when(input, () => 1)),
    ],
    [
      "BUILD_THREW",
      "build",
      /^no luck$/,
      () =>
        beside(() => {
          throw new Error("no luck");
        }),
    ],
    ["BUILD_ASYNC", "build", /found an async one/, () => beside(async () => 1)],
    [
      "SUCCESS_CASES_EMPTY",
      "success.cases",
      /no run could succeed/,
      () => withOptions({ success: { cases: [] } }),
    ],
    [
      "SUCCESS_CASE_EMPTY",
      "success.cases[1]",
      /every run would succeed/,
      () => withOptions({ success: { cases: [["t"], []] } }),
    ],
    [
      "SUCCESS_NODE_UNKNOWN",
      "success.cases[0][0]",
      /there is no node "tt"; did you mean "t"\?/,
      () => withOptions({ success: { cases: [["tt"]] } }),
    ],
    [
      "SUCCESS_NODE_UNKNOWN",
      "success.optional[0]",
      /there is no node "elsewhere"; known: t/,
      () => withOptions({ success: { optional: ["elsewhere"] } }),
    ],
  ]);

  test("report all mistakes together, and the workflow is defined nonetheless", () => {
    const workflow = defineLoosely({
      name: "",
      version: -1,
      success: { optional: ["nobody"] },
      build: (flow: Loose) => {
        flow.node("a", tick, new Date(), { priority: 0 });
        throw new Error("half way");
      },
    });

    expect(workflow.problems.map(({ code }) => code)).toEqual([
      "WORKFLOW_NAME_INVALID",
      "WORKFLOW_VERSION_INVALID",
      "NODE_OPTION_INVALID",
      "INPUT_NOT_JSON",
      "BUILD_THREW",
      "SUCCESS_NODE_UNKNOWN",
    ]);
    expect(workflow.graph.nodes.map(({ id }) => id)).toEqual(["a"]);
  });

  test.each([[undefined], [null], ["name"]])(
    "throw for options of the wrong form: %j",
    (options) => {
      const define = (): unknown => Reflect.apply(defineWorkflow, undefined, [options]);
      expect(define).toThrow(PosthasteError);
      expect(define).toThrow(/expected an object of options/);
    },
  );
});
