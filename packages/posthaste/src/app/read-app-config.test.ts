import { expect, test } from "vitest";
import { defineTask, implement } from "../define/define-task.ts";
import { defineWorkflow } from "../define/define-workflow.ts";
import { PosthasteError } from "../domain/errors.ts";
import { readAppConfig, type AppConfig } from "./read-app-config.ts";

const mail = defineTask({ name: "mail", queue: "mails", run: () => null });
const anywhere = defineTask({ name: "anywhere", run: () => null });
const contract = defineTask({ name: "contract" });
const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** What an author in plain JavaScript may pass. */
function problemsOf(given: object): readonly { path: string; message: string }[] {
  try {
    readAppConfig(given, {});
  } catch (error) {
    if (error instanceof PosthasteError && error.code === "CONFIG_INVALID") return error.problems;
    throw error;
  }
  return [];
}

test("tasks and contracts are told apart", () => {
  const implemented = implement(defineTask({ name: "done" }), () => 1);
  const { tasks, contracts } = readAppConfig({ tasks: [mail, contract, implemented] }, {});
  expect(tasks.map(({ name }) => name)).toEqual(["mail", "done"]);
  expect(contracts.map(({ name }) => name)).toEqual(["contract"]);
});

test("a name is taken once", () => {
  const again = defineTask({ name: "mail", run: () => 1 });
  expect(problemsOf({ tasks: [mail, anywhere, again] })).toEqual([
    { path: "tasks[2]", message: 'the name "mail" is taken by another task' },
  ]);
});

test.each([[{ name: "x", run: () => 1 }], [undefined], ["mail"], [null]])(
  "%j in the list is no task",
  (task) => {
    const [problem] = problemsOf({ tasks: [task] });
    expect(problem?.path).toBe("tasks[0]");
    expect(problem?.message).toMatch(/^expected what defineTask\(\) returns, found /);
  },
);

test("the list is a list", () => {
  expect(problemsOf({ tasks: mail })).toEqual([
    { path: "tasks", message: "expected a list of tasks, found an object" },
  ]);
});

test("without configured queues a task may name any", () => {
  expect(problemsOf({ tasks: [mail] })).toEqual([]);
});

test("with configured queues every task names one of them, and the nearest is suggested", () => {
  expect(problemsOf({ tasks: [mail, anywhere], queues: { mail: {}, bulk: {} } })).toEqual([
    {
      path: "tasks[0]",
      message: 'task "mail" names the queue "mails", which is not configured; did you mean "mail"?',
    },
    {
      path: "tasks[1]",
      message:
        'task "anywhere" names no queue, and "default" is not among those configured; known are mail, bulk',
    },
  ]);
});

test("a logger has pino's four methods", () => {
  expect(problemsOf({ logger })).toEqual([]);
  expect(problemsOf({ logger: { info() {}, debug() {} } })).toEqual([
    {
      path: "logger",
      message: "expected the methods debug, info, warn and error; warn, error missing",
    },
  ]);
  expect(problemsOf({ logger: null }).map(({ path }) => path)).toEqual(["logger"]);
});

test("a context is a function, and is handed on", () => {
  const context = () => ({ mailer: "smtp" });
  expect(readAppConfig({ context }, {}).context).toBe(context);
  expect(readAppConfig({}, {}).context).toBeUndefined();
  expect(problemsOf({ context: { mailer: "smtp" } })).toEqual([
    { path: "context", message: "expected a function, found an object" },
  ]);
});

test("a file is named by URL or absolute path, and is there", () => {
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

test("hooks are checked, each by its name", () => {
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

test("problems of the config, the tasks and the logger come in one error, a line each", () => {
  const given = { schema: "NO", tasks: [5], logger: {}, queue: {} };
  expect(() => readAppConfig(given as unknown as AppConfig, {})).toThrow(
    [
      "the config is not valid:",
      '  - unknown option "queue"; did you mean "queues"?',
      '  - schema: expected lower-case letters, digits and _, at most 48, not beginning with a digit; found "NO"',
      "  - tasks[0]: expected what defineTask() returns, found a number",
      "  - logger: expected the methods debug, info, warn and error; debug, info, warn, error missing",
    ].join("\n"),
  );
});

test.each([null, 5, "postgres://x", []])("%j is no config", (given) => {
  expect(problemsOf(given as unknown as object).map(({ message }) => message)).toEqual([
    expect.stringMatching(/^expected an object of options, found /),
  ]);
});

const flow = (name: string) =>
  defineWorkflow({ name, build: (build) => void build.node("m", mail) });

test("workflows are listed once by name, and are what defineWorkflow returns", () => {
  const { workflows } = readAppConfig({ workflows: [flow("a"), flow("b")] }, {});
  expect(workflows.map(({ name }) => name)).toEqual(["a", "b"]);
  expect(readAppConfig({}, {}).workflows).toEqual([]);

  expect(problemsOf({ workflows: [flow("a"), mail, flow("a")] })).toEqual([
    { path: "workflows[1]", message: "expected what defineWorkflow() returns, found an object" },
    { path: "workflows[2]", message: 'the name "a" is taken by another workflow' },
  ]);
  expect(problemsOf({ workflows: flow("a") })).toEqual([
    { path: "workflows", message: "expected a list of workflows, found an object" },
  ]);
});
