/** `posthaste tasks` on a real database, beside a worker. */
import { randomUUID } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { defineTask, fail, fixed, type Worker } from "../../src/index.ts";
import { runPosthaste, type Ran } from "../support/command-line.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

function posthaste(...args: string[]): Promise<Ran> {
  return runPosthaste({ DATABASE_URL: db.url }, "tasks", ...args);
}

const add = defineTask({ name: "add", run: ({ a, b }: { a: number; b: number }) => a + b });
const refuse = defineTask({
  name: "refuse",
  queue: "strict",
  retry: fixed({ intervalsMs: [1], retryFor: ["REFUSED"] }),
  errors: ["REFUSED"],
  run: () => fail("REFUSED", "not today"),
});

let worker: Worker | undefined;
afterEach(() => worker?.stop());

async function startWorker() {
  const app = db.app({ tasks: [add, refuse], queues: { default: {}, strict: {} } });
  worker = app.worker({ name: "ada" });
  await worker.start();
  return app;
}

test("send --wait prints the result as JSON", async () => {
  await startWorker();
  const ran = await posthaste("send", "add", '{"a": 2, "b": 3}', "--wait");
  expect(ran).toEqual({ code: 0, stdout: "5\n", stderr: "" });
});

test("send prints the id, and takes queue and options of the registered definition", async () => {
  const app = await startWorker();
  const { code, stdout } = await posthaste("send", "refuse", "--priority", "7");
  expect(code).toBe(0);
  expect(await app.admin.tasks.get(stdout.trim())).toMatchObject({ queue: "strict", priority: 7 });
});

test("send --wait exits with 3 for a task that fails, and --json has its error", async () => {
  await startWorker();
  const { code, stdout, stderr } = await posthaste("send", "refuse", "--wait", "--json");
  expect(code).toBe(3);
  expect(JSON.parse(stdout)).toMatchObject({
    result: { ok: false, error: { code: "REFUSED", message: "not today" } },
  });
  expect(stderr).toMatch(/^error task \S+ ended with REFUSED: not today\n$/);
});

test("send --wait --timeout exits with 3 when the task has not ended in time", async () => {
  const { code, stderr } = await posthaste(
    "send",
    "add",
    "{}",
    "--force",
    "--delay",
    "1h",
    "--wait",
    "--timeout",
    "200ms",
  );
  expect(stderr).toMatch(/^error task \S+ has not ended in time, and goes on\n$/);
  expect(code).toBe(3);
});

test("send refuses a name that no worker has registered, suggests the nearest, and exits with 4", async () => {
  await startWorker();
  const { code, stdout, stderr } = await posthaste("send", "ad", "{}");
  expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
  expect(stderr).toContain('no worker has ever registered a task named "ad"; did you mean "add"?');
});

test("send --key sends once", async () => {
  const first = await posthaste("send", "add", "1", "--key", "k", "--force");
  const second = await posthaste("send", "add", "1", "--key", "k", "--force");
  expect(second).toEqual(first);
});

test("show prints the timeline of a task that was retried and failed", async () => {
  const app = await startWorker();
  const handle = await app.send(refuse, undefined);
  await handle.result();

  const { code, stdout } = await posthaste("show", handle.id);

  expect(code).toBe(0);
  const lines = stdout.split("\n");
  expect(lines[0]).toBe(`task ${handle.id}  refuse  FAILED`);
  expect(stdout).toContain("error     REFUSED: not today");
  const events = lines
    .map((line) => /\+[\d.]+ \w+ {2}([a-z ]+?)(?: {2,}|$)/.exec(line)?.[1])
    .filter((event) => event !== undefined);
  expect(events).toEqual(["sent", "started", "attempt ended", "started", "attempt ended", "ended"]);
});

test("show --json has exact times, input, result and events", async () => {
  const app = await startWorker();
  const handle = await app.send(add, { a: 1, b: 1 });
  await handle.value();

  const { stdout } = await posthaste("show", handle.id, "--json");

  const shown = JSON.parse(stdout) as { events: { at: string; event: string }[] };
  expect(shown).toMatchObject({ id: handle.id, input: { a: 1, b: 1 }, result: 2, error: null });
  expect(shown.events.map(({ event }) => event)).toEqual([
    "sent",
    "started",
    "attempt ended",
    "ended",
  ]);
  for (const { at } of shown.events) expect(new Date(at).toISOString()).toBe(at);
});

test("cancel ends a waiting task, and says what became of it", async () => {
  const id = (await posthaste("send", "add", "{}", "--force", "--delay", "1h")).stdout.trim();
  expect(await posthaste("cancel", id)).toMatchObject({
    code: 0,
    stdout: `task ${id}: cancelled, it will not run\n`,
  });
  const again = await posthaste("cancel", id, "--json");
  expect(JSON.parse(again.stdout)).toEqual({ id, outcome: "finished" });
});

test.each(["show", "cancel"])(
  "%s exits with 4 for a task that is not there, and with 2 for what is no id",
  async (verb) => {
    const absent = await posthaste(verb, randomUUID());
    expect(absent.code).toBe(4);
    expect(absent.stderr).toContain("there is no task");
    const wrong = await posthaste(verb, "17");
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('expected a UUID, found "17"');
  },
);

test.each([
  ["input that is no JSON", ["send", "add", "{a: 1}"], "expected JSON such as"],
  ["a delay without a unit", ["send", "add", "--delay", "10"], "such as 500ms, 30s, 10m, 2h or 1d"],
  ["an unknown command", ["shwo"], "Did you mean show?"],
  ["no command", [], "Usage: posthaste tasks"],
])("posthaste tasks exits with 2 for %s", async (_what, args, words) => {
  const { code, stderr } = await posthaste(...args);
  expect(stderr).toContain(words);
  expect(code).toBe(2);
});
