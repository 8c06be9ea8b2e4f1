/** Workflows as an author in plain JavaScript may write them: the mistakes that the compiler would not let pass. */
import { expect, test } from "vitest";
import { defineTask } from "../../src/define/define-task.ts";
import { defineWorkflow } from "../../src/define/define-workflow.ts";
import type { AnyWorkflow } from "../../src/define/workflow.ts";
import type { WorkflowProblem, WorkflowProblemCode } from "../../src/define/workflow-problem.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- nothing is checked, and that is the point
export type Loose = any;

export const tick = defineTask({ name: "tick", run: () => 1 });
export const echo = defineTask({ name: "echo", errors: ["NO"], run: (input: unknown) => input });

export function defineLoosely(options: object): AnyWorkflow {
  return defineWorkflow(options as Parameters<typeof defineWorkflow>[0]);
}

/** The problems of a workflow with this `build`. */
export function built(build: (flow: Loose, input: Loose) => unknown): readonly WorkflowProblem[] {
  return defineLoosely({ name: "w", build }).problems;
}

/** The same, beside a node "t". */
export function beside(build: (flow: Loose, t: Loose) => unknown): readonly WorkflowProblem[] {
  return built((flow) => build(flow, flow.node("t", tick)));
}

export type ProblemCase = readonly [
  code: WorkflowProblemCode,
  path: string,
  message: RegExp,
  find: () => readonly WorkflowProblem[],
];

/** Each case has this problem, and no other. */
export function testProblems(cases: readonly ProblemCase[]): void {
  test.each(cases)("%s at %j: %s", (code, path, message, find) => {
    expect(find()).toEqual([{ code, path, message: expect.stringMatching(message) }]);
  });
}
