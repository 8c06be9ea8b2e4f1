import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { findLogMessages } from "./find-log-messages.ts";
import { topics, type MessageEntry, type Topic } from "./log-messages.ts";
import { catalogueOf, logMessagesPage, readSources } from "./log-messages-page.ts";

const page = new URL("../docs/operations/log-messages.md", import.meta.url);

test("the stored page is the one that the sources and the entries make", () => {
  const catalogue = catalogueOf(readSources(), topics);

  expect(catalogue.problems).toEqual([]);
  expect(readFileSync(page, "utf8")).toBe(logMessagesPage(catalogue, topics));
});

describe("findLogMessages", () => {
  const found = (text: string) => findLogMessages([{ file: "worker/x.ts", text }]);

  test("reads level, text and fields of a call", () => {
    const { messages, problems } = found(
      'class X { f() { this.#log.warn({ task, error: String(e) }, "task failed"); } }',
    );

    expect(problems).toEqual([]);
    expect(messages).toEqual([
      {
        file: "worker/x.ts",
        levels: ["warn"],
        text: "task failed",
        fields: ["task", "error"],
        logger: "this.#log",
      },
    ]);
  });

  test("reads choices between levels and between texts, and values in a text", () => {
    const { messages } = found(
      'log[isAway ? "debug" : "warn"]({ a }, isAway ? "away" : `gone ${n} ms`);',
    );

    expect(messages).toMatchObject([
      { levels: ["debug", "warn"], text: "away" },
      { levels: ["debug", "warn"], text: "gone … ms" },
    ]);
  });

  test("reads fields of a constant, of a function and of a condition", () => {
    const { messages, problems } = found(`
      const facts = { task, ...namesOf(event) };
      log.info({ ...facts, ...(code !== undefined && { code }) }, "x");
      function namesOf(event: object) { return { name: "n" }; }
    `);

    expect(problems).toEqual([]);
    expect(messages).toMatchObject([{ fields: ["task", "name", "code"] }]);
  });

  test("reads lines that are written later, and the line for those that were counted", () => {
    const { messages } = found(`
      log[level]({ name, count }, many);
      write({ level: "error", message: "task failed", many: "more tasks failed", fields: { task } });
    `);

    expect(messages).toMatchObject([
      { levels: ["error"], text: "task failed", fields: ["task"] },
      { levels: ["error"], text: "more tasks failed", fields: ["name", "count"] },
    ]);
  });

  test("refuses a text and fields that cannot be read", () => {
    expect(found("log.info({ ...given }, text);").problems).toEqual([
      "worker/x.ts:1: expected fields with names, found given",
      "worker/x.ts:1: expected a message that is written out",
    ]);
  });
});

describe("catalogueOf", () => {
  const entry = (about: MessageEntry["about"]): MessageEntry => ({
    about,
    when: "w",
    meaning: "m",
    action: "a",
  });
  const problemsOf = (text: string, messages: Topic["messages"], file = "app/x.ts") =>
    catalogueOf([{ file, text }], [{ title: "t", messages }]).problems;

  test("accepts a message with an entry, whose logger names the worker", () => {
    expect(problemsOf('log.info("a");', { a: entry("worker") }, "worker/x.ts")).toEqual([]);
  });

  test.each([
    [
      "a message without an entry",
      'log.info("a");',
      {},
      'app/x.ts: "a" has no entry in log-messages.ts',
    ],
    [
      "an entry without a message",
      "",
      { a: entry("app") },
      '"a" is in log-messages.ts and in no source',
    ],
    [
      "a message about a task that is not named",
      'log.info({ task }, "a");',
      { a: entry("task") },
      'app/x.ts: "a" has no field name: expected it of a message about "task"',
    ],
    [
      "a message about a worker that is not named",
      'log.info("worker started");',
      { "worker started": entry("worker") },
      'app/x.ts: "worker started" has no field worker: expected it of a message about "worker"',
    ],
    [
      "an entry that hides what a message is about",
      'log.info("task failed");',
      { "task failed": entry("app") },
      'app/x.ts: "task failed" begins with a task: expected it to be about one, found "app"',
    ],
  ])("refuses %s", (_, text, messages, problem) => {
    expect(problemsOf(text, messages)).toEqual([problem]);
  });

  test("refuses a message of 160 characters", () => {
    const [fits, long] = ["x".repeat(159), "x".repeat(160)] as const;
    expect(problemsOf(`log.info("${fits}");`, { [fits]: entry("app") })).toEqual([]);
    expect(problemsOf(`log.info("${long}");`, { [long]: entry("app") })).toEqual([
      `app/x.ts: "${long}" has 160 characters: expected fewer than 160`,
    ]);
  });
});
