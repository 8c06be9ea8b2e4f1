/** Problems that workflows have only together, or in an app. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Config } from "../config/config.ts";
import { defineTask, implement } from "./define-task.ts";
import { defineWorkflow } from "./define-workflow.ts";
import { workflowProblemCodes } from "./workflow-problem.ts";
import { refusedInputs } from "./workflow-inputs.ts";
import { workflowProblems } from "./workflow-rules.ts";
import type { AnyWorkflow } from "./workflow.ts";

const tick = defineTask({ name: "tick", run: () => 1 });
const contract = defineTask({ name: "elsewhere", queue: "mail" });
const order = defineTask({
  name: "order",
  input: z.object({ id: z.string().min(2), lines: z.array(z.object({ n: z.number().int() })) }),
  run: ({ id }) => ({ id, list: [1.5] }),
});
const inner = defineWorkflow({ name: "inner", build: (flow) => flow.node("t", tick).output });
const outer = defineWorkflow({
  name: "outer",
  build: (flow) => {
    flow.workflow("a", inner);
    flow.workflow("b", inner);
    flow.node("mail", contract);
  },
});
const anyQueue = { queues: undefined };

function queues(...names: string[]): Pick<Config, "queues"> {
  return { queues: new Map(names.map((name) => [name, { priority: 100, maxConcurrency: null }])) };
}

describe("workflowProblems", () => {
  test("finds none in valid workflows, nested ones, and tasks that other apps run", () => {
    expect(workflowProblems([outer, inner], anyQueue)).toEqual([]);
    expect(workflowProblems([outer], { ...anyQueue, tasks: [tick, contract] })).toEqual([]);
  });

  test("gives a workflow's problems with its name, those of a nested one once", () => {
    const broken = defineWorkflow({
      name: "bro ken",
      version: 0,
      build: (flow) => void flow.node("t", tick),
    });
    const first = defineWorkflow({
      name: "first",
      build: (flow) => void flow.workflow("x", broken),
    });
    const second = defineWorkflow({
      name: "second",
      build: (flow) => void flow.workflow("x", broken),
    });

    expect(workflowProblems([first, second], anyQueue)).toEqual([
      {
        code: "WORKFLOW_VERSION_INVALID",
        path: 'workflows["bro ken"].version',
        message: expect.stringContaining("found 0"),
      },
    ]);
  });

  test("WORKFLOW_NAME_TAKEN: one name and version with two graphs", () => {
    const same = defineWorkflow({ name: "inner", build: (flow) => flow.node("t", tick).output });
    const other = defineWorkflow({ name: "inner", build: (flow) => flow.node("u", tick).output });
    const later = defineWorkflow({
      name: "inner",
      version: 2,
      build: (flow) => flow.node("u", tick).output,
    });

    expect(workflowProblems([outer, same, later], anyQueue)).toEqual([]);
    expect(workflowProblems([outer, other], anyQueue)).toEqual([
      {
        code: "WORKFLOW_NAME_TAKEN",
        path: "workflows.inner",
        message: expect.stringMatching(
          /this name and version 1, and another graph; raise the version/,
        ),
      },
    ]);
  });

  test("WORKFLOW_CYCLE: finds a cycle, although the builder cannot make one", () => {
    const children: AnyWorkflow[] = [];
    const a: AnyWorkflow = { ...inner, name: "a", children };
    const b: AnyWorkflow = { ...inner, name: "b", children: [a] };
    children.push(b);

    const problems = workflowProblems([a], anyQueue).filter(
      ({ code }) => code === "WORKFLOW_CYCLE",
    );
    expect(problems).toEqual([
      {
        code: "WORKFLOW_CYCLE",
        path: "workflows.a",
        message: expect.stringMatching(/nested in itself: "a" → "b" → "a"/),
      },
    ]);
  });

  test("QUEUE_UNKNOWN: of a node, of its task, or no queue at all", () => {
    const workflow = defineWorkflow({
      name: "queues",
      build: (flow) => {
        flow.node("a", tick, undefined, { queue: "mial" });
        flow.node("b", contract);
        flow.node("c", tick);
        flow.each(
          "d",
          tick,
          flow.node("e", order, { id: "ab", lines: [] }, { queue: "mail" }).output.list,
          () => undefined,
        );
      },
    });

    expect(workflowProblems([workflow], queues("mail", "bulk"))).toEqual([
      {
        code: "QUEUE_UNKNOWN",
        path: "workflows.queues.nodes.a",
        message: 'names the queue "mial", which is not configured; did you mean "mail"?',
      },
      {
        code: "QUEUE_UNKNOWN",
        path: "workflows.queues.nodes.c",
        message:
          'names no queue, nor does its task, and "default" is not among those configured; known: mail, bulk',
      },
      { code: "QUEUE_UNKNOWN", path: "workflows.queues.nodes.d", message: expect.any(String) },
    ]);
    expect(workflowProblems([workflow], anyQueue)).toEqual([]);
  });

  test("TASK_NAME_TAKEN: two tasks of one name; a contract and its implementation are one", () => {
    const implemented = implement(contract, () => 1);
    const twin = defineTask({ name: "tick", run: () => 2 });
    const workflow = defineWorkflow({ name: "twins", build: (flow) => void flow.node("t", twin) });

    expect(workflowProblems([outer], { ...anyQueue, tasks: [tick, implemented] })).toEqual([]);
    const taken = {
      code: "TASK_NAME_TAKEN",
      path: "workflows.twins",
      message: 'another task is also called "tick"; a worker could not tell them apart',
    };
    expect(workflowProblems([workflow], { ...anyQueue, tasks: [tick] })).toEqual([taken]);
    expect(workflowProblems([inner, workflow], anyQueue)).toEqual([taken]);
  });

  test("TASK_NOT_REGISTERED: a task that the app's workers do not know", () => {
    expect(workflowProblems([outer], { ...anyQueue, tasks: [tick] })).toEqual([
      {
        code: "TASK_NOT_REGISTERED",
        path: "workflows.outer",
        message: expect.stringMatching(/its task "elsewhere" is not among the app's tasks/),
      },
    ]);
  });

  test("INPUT_REFUSED: the schema checks known values and skips refs", async () => {
    const workflow = defineWorkflow({
      name: "inputs",
      build: (flow) => {
        const first = flow.node("first", order, { id: "a", lines: [{ n: 1 }, { n: 1.5 }] });
        flow.node("second", order, { id: first.output.id, lines: [{ n: 1.5 }] });
        flow.node("third", order, { id: "abc", lines: [{ n: first.output.list[0] }] } as never);
        flow.each("fourth", order, first.output.list, (n) => ({ id: "x", lines: [{ n }] }));
        flow.node("fifth", tick);
      },
    });

    expect(workflow.problems).toEqual([]);
    const refused = await refusedInputs([workflow]);
    expect(refused.map(({ code, path }) => [code, path])).toEqual([
      ["INPUT_REFUSED", "workflows.inputs.nodes.first.input.id"],
      ["INPUT_REFUSED", "workflows.inputs.nodes.first.input.lines[1].n"],
      ["INPUT_REFUSED", "workflows.inputs.nodes.second.input.lines[0].n"],
      ["INPUT_REFUSED", "workflows.inputs.nodes.fourth.input.id"],
    ]);
  });

  test("does not ask a schema that transforms null about the parts of a ref", async () => {
    const lenient = defineTask({
      name: "lenient",
      input: z.object({ a: z.preprocess((given) => given ?? {}, z.object({ n: z.number() })) }),
      run: ({ a }) => a.n,
    });
    const workflow = defineWorkflow({
      name: "lenient",
      build: (flow) => {
        const first = flow.node("first", tick);
        flow.node("known", lenient, { a: null });
        flow.node("ref", lenient, { a: first.output });
      },
    });

    expect((await refusedInputs([workflow])).map(({ path }) => path)).toEqual([
      "workflows.lenient.nodes.known.input.a.n",
    ]);
  });

  test("has a test for every code, here or in this folder, and a line in the guide", () => {
    const folder = new URL("./", import.meta.url);
    const tests = readdirSync(folder)
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => readFileSync(new URL(name, folder), "utf8"))
      .join("\n");
    const guide = readFileSync(
      new URL("../../../../docs/guides/workflow-checks.md", import.meta.url),
      "utf8",
    );

    for (const [code, meaning] of Object.entries(workflowProblemCodes)) {
      expect(tests).toContain(`"${code}"`);
      expect(guide).toContain(`| \`${code}\` | ${meaning} |`);
    }
  });
});
