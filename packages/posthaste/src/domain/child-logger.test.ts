import { expect, test } from "vitest";
import { childLogger } from "./child-logger.ts";
import type { Logger, LogLine } from "./logger.ts";

function recorder(): { readonly lines: unknown[][]; readonly log: Logger } {
  const lines: unknown[][] = [];
  const line =
    (level: string): LogLine =>
    (first: object | string, message?: string) => {
      lines.push([level, first, message]);
    };
  const log = {
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
  };
  return { lines, log };
}

test("every line carries the fields, whether it has fields of its own or not", () => {
  const { lines, log } = recorder();
  const child = childLogger(log, { task: "mail" });
  child.info("begins");
  child.warn({ attempt: 2 }, "again");
  expect(lines).toEqual([
    ["info", { task: "mail" }, "begins"],
    ["warn", { task: "mail", attempt: 2 }, "again"],
  ]);
});

test("a line's own field wins, and children can have children", () => {
  const { lines, log } = recorder();
  childLogger(childLogger(log, { a: 1, b: 1 }), { b: 2 }).error({ c: 3 }, "x");
  childLogger(log, { a: 1 }).debug({ a: 9 }, "y");
  expect(lines).toEqual([
    ["error", { a: 1, b: 2, c: 3 }, "x"],
    ["debug", { a: 9 }, "y"],
  ]);
});
