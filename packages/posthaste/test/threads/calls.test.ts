import { expect, test } from "vitest";
import { recordingLogger } from "../support/loggers.ts";
import { openPool, watchFor } from "./pool.ts";

test("input and output pass through the schemas, as JSON text", async () => {
  const { call } = openPool();
  expect(await call("add", { a: 2, b: "3" }).ended).toMatchObject({ ok: true, value: "5" });
  expect(await call("add", { a: "2" }).ended).toMatchObject({
    ran: false,
    error: { code: "ARGUMENT_TYPE_MISMATCH" },
  });
});

test("a handler executes on a thread and receives the facts of its attempt", async () => {
  const { call } = openPool();
  const run = call("where");
  const ended = await run.ended;
  expect(ended).toMatchObject({ ran: true, ok: true });
  const { threadId, facts } = JSON.parse(ended.ok ? ended.value : "") as {
    threadId: number;
    facts: object;
  };
  expect(threadId).toBeGreaterThan(0);
  expect(facts).toEqual(run.facts);
});

test("a failure by fail() keeps its code and data", async () => {
  const { call } = openPool();
  expect(await call("refuse").ended).toEqual({
    ran: true,
    ok: false,
    error: { code: "NO_PAPER", message: "the printer is empty", data: { tray: 2 } },
  });
});

test("an error thrown by a handler keeps its name, its stack and its cause", async () => {
  const { call } = openPool();
  expect(await call("explode").ended).toMatchObject({
    ran: true,
    ok: false,
    error: {
      code: "UNHANDLED_ERROR",
      message: "too hot",
      cause: {
        name: "RangeError",
        stack: expect.stringMatching(/RangeError: too hot\n.*apps\/tasks\.ts/s),
        cause: { message: "the sun" },
      },
    },
  });
});

test("lines of ctx.log arrive with their fields, also with values that cannot leave the thread", async () => {
  const { call } = openPool();
  const log = recordingLogger();
  await call("chat", null, log).ended;
  expect(log.lines).toMatchObject([
    { level: "debug", message: "plain", fields: {} },
    { level: "info", message: "with fields", fields: { n: 1, at: new Date(0) } },
    { level: "warn", message: "with a function", fields: { f: "[Function: f]", ok: "2" } },
  ]);
  expect(log.lines[1]?.fields["error"]).toMatchObject({ message: "kept" });
});

test.each(["listen", "compute", "compute-and-throw"])(
  "an abort reaches the signal of the handler %s, with its reason",
  async (task) => {
    const { call } = openPool();
    const line = watchFor(/ing$/);
    const run = call(task, null, line.log);
    await line.said;
    run.abort("SHUTDOWN");
    run.abort("CLAIM_LOST"); // the first one counts
    const ended = await run.ended;
    expect(ended).toMatchObject(
      task === "compute-and-throw"
        ? {
            ok: false,
            error: {
              cause: { name: "TaskAborted" },
              message: expect.stringContaining("shutting down"),
            },
          }
        : { value: JSON.stringify({ isTaskAborted: true, reason: "SHUTDOWN" }) },
    );
  },
);

test("an abort of one call does not affect the next call on the same thread", async () => {
  const { call } = openPool("tasks.ts", { threads: 1 });
  const first = call("listen");
  first.abort("SHUTDOWN");
  const second = call("compute");
  await first.ended;
  second.abort("CLAIM_LOST");
  expect(await second.ended).toMatchObject({
    value: JSON.stringify({ isTaskAborted: true, reason: "CLAIM_LOST" }),
  });
  expect(await call("add", { a: 1, b: "1" }).ended).toMatchObject({ value: "2" });
});
