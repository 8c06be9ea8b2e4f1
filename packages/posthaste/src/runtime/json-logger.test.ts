import { describe, expect, test } from "vitest";
import { jsonLogger, type LogLevel } from "./json-logger.ts";

function logged(level: LogLevel) {
  const lines: string[] = [];
  const log = jsonLogger(level, (line) => lines.push(line));
  log.debug("d");
  log.info({ taskId: "t", note: 'a "quote"\nand a line' }, "i");
  log.warn("w");
  log.error("e");
  return lines;
}

describe("jsonLogger", () => {
  test("writes a JSON object with time, level, message and fields", () => {
    const [, info] = logged("debug");
    expect(info?.endsWith("}\n")).toBe(true);
    expect(info?.split("\n")).toHaveLength(2);
    expect(JSON.parse(info ?? "")).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      level: "info",
      message: "i",
      taskId: "t",
      note: 'a "quote"\nand a line',
    });
  });

  test.each<[LogLevel, string[]]>([
    ["debug", ["debug", "info", "warn", "error"]],
    ["warn", ["warn", "error"]],
    ["silent", []],
  ])("writes at level %s: %j", (level, written) => {
    expect(logged(level).map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(
      written,
    );
  });

  function fieldsOf(fields: object): Record<string, unknown> {
    const lines: string[] = [];
    jsonLogger("info", (line) => lines.push(line)).info(fields, "still said");
    return JSON.parse(lines.join("")) as Record<string, unknown>;
  }

  test("writes errors and bigints in the fields as readable text", () => {
    const { error, count } = fieldsOf({ error: new TypeError("no such user"), count: 5n });
    expect(error).toMatch(/^TypeError: no such user\n {4}at /);
    expect(count).toBe("5");
  });

  test("does not throw on fields that JSON cannot hold", () => {
    const cyclic: Record<string, unknown> = { user: "ada" };
    cyclic["self"] = cyclic;
    expect(fieldsOf(cyclic)).toMatchObject({
      level: "info",
      message: "still said",
      fields: expect.stringContaining("user: 'ada'"),
    });
  });
});
