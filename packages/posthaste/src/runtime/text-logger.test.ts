import { describe, expect, test } from "vitest";
import { textLogger } from "./text-logger.ts";

function lineOf(fields: object, isColoured = false): string {
  const lines: string[] = [];
  textLogger("info", (line) => lines.push(line), isColoured).warn(fields, "task failed");
  expect(lines).toHaveLength(1);
  return lines[0]?.slice(13) ?? ""; // behind the time
}

describe("textLogger", () => {
  test("writes one line: time, level, message, facts", () => {
    expect(lineOf({ task: "t-1", attempt: 2, queues: ["a", "b"] })).toBe(
      "warn  task failed  task=t-1 attempt=2 queues=[ 'a', 'b' ]\n",
    );
  });

  test("quotes text with spaces, and keeps errors and line breaks in the line", () => {
    const line = lineOf({ note: 'a "b"\nc', error: new TypeError("no user") });
    expect(line).toContain('note="a \\"b\\"\\nc" error="TypeError: no user\\n    at ');
    expect(line.split("\n")).toHaveLength(2);
  });

  test("survives fields that refer to themselves", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    expect(lineOf({ cyclic })).toContain("cyclic=<ref *1> { self: [Circular *1] }");
  });

  test("drops lines below its level, and paints only where it is told to", () => {
    const lines: string[] = [];
    textLogger("warn", (line) => lines.push(line), false).info("not this one");
    expect(lines).toEqual([]);
    expect(lineOf({})).not.toContain("\u001b[");
    expect(lineOf({}, true)).toContain("\u001b[33m");
  });
});
