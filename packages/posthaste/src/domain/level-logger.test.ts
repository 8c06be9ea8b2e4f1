import { expect, test } from "vitest";
import { recordingLogger } from "../../test/support/loggers.ts";
import { atLevel } from "./level-logger.ts";

const levels = ["debug", "info", "warn", "error"] as const;

test.each(levels)("at %s, what is less grave is dropped and the rest passes as it was", (least) => {
  const log = recordingLogger();
  const filtered = atLevel(log, least);
  for (const level of levels) {
    filtered[level]("plain");
    filtered[level]({ taskId: "7" }, "with fields");
  }
  const passed = levels.slice(levels.indexOf(least));
  expect(log.lines).toEqual(
    passed.flatMap((level) => [
      { level, message: "plain", fields: {} },
      { level, message: "with fields", fields: { taskId: "7" } },
    ]),
  );
});

test("without a level the logger is left alone", () => {
  const log = recordingLogger();
  expect(atLevel(log, undefined)).toBe(log);
});

test("a logger's methods keep their owner", () => {
  const owner = { seen: [] as string[] };
  const method = function (this: void | typeof owner, first: object | string): void {
    if (this !== undefined) this.seen.push(JSON.stringify(first));
  };
  const log = Object.assign(owner, { debug: method, info: method, warn: method, error: method });
  atLevel(log, "info").warn("heard");
  expect(owner.seen).toEqual(['"heard"']);
});
