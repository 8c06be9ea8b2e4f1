import { describe, expect, test } from "vitest";
import { defineTask, implement } from "../define/define-task.ts";
import { defineWorkflow } from "../define/define-workflow.ts";
import { PosthasteError } from "../domain/errors.ts";
import { readAppConfig, type AppConfig } from "./read-app-config.ts";

const mail = defineTask({ name: "mail", queue: "mails", run: () => null });
const anywhere = defineTask({ name: "anywhere", run: () => null });
const contract = defineTask({ name: "contract" });
const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Values that an author in plain JavaScript may pass. */
function problemsOf(given: object): readonly { path: string; message: string }[] {
  try {
    readAppConfig(given, {});
  } catch (error) {
    if (error instanceof PosthasteError && error.code === "CONFIG_INVALID") return error.problems;
    throw error;
  }
  return [];
}

describe("readAppConfig", () => {
  test("separates tasks from contracts", () => {
    const implemented = implement(defineTask({ name: "done" }), () => 1);
    const { tasks, contracts } = readAppConfig({ tasks: [mail, contract, implemented] }, {});
    expect(tasks.map(({ name }) => name)).toEqual(["mail", "done"]);
    expect(contracts.map(({ name }) => name)).toEqual(["contract"]);
  });

  test("refuses a name that is used twice", () => {
    const again = defineTask({ name: "mail", run: () => 1 });
    expect(problemsOf({ tasks: [mail, anywhere, again] })).toEqual([
      { path: "tasks[2]", message: 'the name "mail" is taken by another task' },
    ]);
  });

  test.each([[{ name: "x", run: () => 1 }], [undefined], ["mail"], [null]])(
    "refuses %j in the list of tasks",
    (task) => {
      const [problem] = problemsOf({ tasks: [task] });
      expect(problem?.path).toBe("tasks[0]");
      expect(problem?.message).toMatch(/^expected a task from defineTask\(\), found /);
    },
  );

  test("refuses a list of tasks that is not an array", () => {
    expect(problemsOf({ tasks: mail })).toEqual([
      { path: "tasks", message: "expected a list of tasks, found an object" },
    ]);
  });

  test("accepts any queue of a task when no queues are configured", () => {
    expect(problemsOf({ tasks: [mail] })).toEqual([]);
  });

  test("refuses a task whose queue is not configured, and suggests the nearest", () => {
    expect(problemsOf({ tasks: [mail, anywhere], queues: { mail: {}, bulk: {} } })).toEqual([
      {
        path: "tasks[0]",
        message:
          'task "mail" names the queue "mails", which is not configured; did you mean "mail"?',
      },
      {
        path: "tasks[1]",
        message:
          'task "anywhere" names no queue, and "default" is not among those configured; known: mail, bulk',
      },
    ]);
  });

  test("requires pino's four methods of a logger", () => {
    expect(problemsOf({ logger })).toEqual([]);
    expect(problemsOf({ logger: { info() {}, debug() {} } })).toEqual([
      {
        path: "logger",
        message: "expected the methods debug, info, warn and error; warn, error missing",
      },
    ]);
    expect(problemsOf({ logger: null }).map(({ path }) => path)).toEqual(["logger"]);
  });

  test("requires a function as context, and passes it on", () => {
    const context = () => ({ mailer: "smtp" });
    expect(readAppConfig({ context }, {}).context).toBe(context);
    expect(readAppConfig({}, {}).context).toBeUndefined();
    expect(problemsOf({ context: { mailer: "smtp" } })).toEqual([
      { path: "context", message: "expected a function, found an object" },
    ]);
  });

  test("requires an existing file, named by URL or absolute path", () => {
    const here = import.meta.url;
    for (const file of [here, new URL(here), new URL(here).pathname]) {
      expect(readAppConfig({ file }, {}).file?.href).toBe(new URL(here).href);
    }
    expect(problemsOf({ file: undefined })).toEqual([]);
    for (const file of ["app.ts", "/not/there.ts", 7, null, new URL("https://example.org/a.ts")]) {
      expect(problemsOf({ file })).toEqual([
        { path: "file", message: expect.stringMatching(/^expected the file URL .+, found /) },
      ]);
    }
  });

  test("checks each hook by its name", () => {
    const hooks = { taskSent: () => undefined, workerStarted: [] };
    expect(readAppConfig({ hooks }, {}).hooks).toBe(hooks);
    expect(readAppConfig({}, {}).hooks).toEqual({});
    const wrong = { taskSnt: () => undefined, taskFailed: 7 } as object;
    expect(problemsOf({ hooks: wrong })).toEqual([
      { path: "hooks", message: 'unknown option "taskSnt"; did you mean "taskSent"?' },
      {
        path: "hooks.taskFailed",
        message: "expected a function or a list of functions, found a number",
      },
    ]);
  });

  test("reports problems of config, tasks and logger in one error, a line each", () => {
    const given = { schema: "NO", tasks: [5], logger: {}, queue: {} };
    expect(() => readAppConfig(given as unknown as AppConfig, {})).toThrow(
      [
        "the config is not valid:",
        '  - unknown option "queue"; did you mean "queues"?',
        '  - schema: expected lower-case letters, digits and _, at most 48, not beginning with a digit; found "NO"',
        "  - tasks[0]: expected a task from defineTask(), found a number",
        "  - logger: expected the methods debug, info, warn and error; debug, info, warn, error missing",
      ].join("\n"),
    );
  });

  test.each([null, 5, "postgres://x", []])("refuses %j as a config", (given) => {
    expect(problemsOf(given as unknown as object).map(({ message }) => message)).toEqual([
      expect.stringMatching(/^expected an object of options, found /),
    ]);
  });

  const flow = (name: string) =>
    defineWorkflow({ name, build: (build) => void build.node("m", mail) });

  test("requires workflows of defineWorkflow, each name once", () => {
    const { workflows } = readAppConfig({ workflows: [flow("a"), flow("b")] }, {});
    expect(workflows.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(readAppConfig({}, {}).workflows).toEqual([]);

    expect(problemsOf({ workflows: [flow("a"), mail, flow("a")] })).toEqual([
      {
        path: "workflows[1]",
        message: "expected a workflow from defineWorkflow(), found an object",
      },
      { path: "workflows[2]", message: 'the name "a" is taken by another workflow' },
    ]);
    expect(problemsOf({ workflows: flow("a") })).toEqual([
      { path: "workflows", message: "expected a list of workflows, found an object" },
    ]);
  });
});
