import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { copyTexts, type CopiedTask } from "./copy-tasks.ts";

const id = "01900000-0000-7000-8000-000000000001";

function task(fields: Partial<CopiedTask> = {}): CopiedTask {
  const nothing = { options: null, flags: null, goodUntil: null };
  return { id, name: "note", queue: "mail", priority: 7, input: "{}", ...nothing, ...fields };
}

/** As PostgreSQL reads the text format: lines, fields, then what is escaped. */
function read(text: string): (string | null)[][] {
  expect(text.endsWith("\n")).toBe(true);
  const lines = text.slice(0, -1).split("\n");
  return lines.map((line) => line.split("\t").map((each) => (each === "\\N" ? null : plain(each))));
}

const meant: Readonly<Record<string, string>> = { t: "\t", n: "\n", r: "\r", "\\": "\\" };

function plain(field: string): string {
  if (field.includes("\r")) throw new Error("a carriage return that is not escaped");
  return field.replaceAll(/\\(.)/gs, (_, escaped: string) => {
    const character = meant[escaped];
    if (character === undefined) throw new Error(`not an escape of ours: ${escaped}`);
    return character;
  });
}

describe("copyTexts", () => {
  test("writes the columns in order, and null for omitted ones", () => {
    const [submissions, ready] = copyTexts([task()]);

    expect(submissions).toBe(`${id}\tnote\tmail\t7\t{}\t\\N\t\\N\t\\N\n`);
    expect(ready).toBe(`${id}\tmail\t7\t\\N\n`);
  });

  test("writes options, flags and deadline after the input, the deadline in both lines", () => {
    const goodUntil = "2090-01-01T00:00:00.000Z";
    const [submissions, ready] = copyTexts([
      task({ options: '{"timeoutMs":5}', flags: '{"a":true}', goodUntil }),
    ]);

    expect(submissions).toBe(
      `${id}\tnote\tmail\t7\t{}\t{"timeoutMs":5}\t{"a":true}\t${goodUntil}\n`,
    );
    expect(ready).toBe(`${id}\tmail\t7\t${goodUntil}\n`);
  });

  test("writes a line for each task, in order", () => {
    const [submissions, ready] = copyTexts([task({ input: "1" }), task({ input: "2" })]);

    expect(read(submissions).map((fields) => fields[4])).toEqual(["1", "2"]);
    expect(read(ready)).toHaveLength(2);
  });

  test("keeps the fields of each task among tasks of several kinds", () => {
    const kinds = [
      task({ name: "other" }),
      task({ queue: "bulk" }),
      task({ priority: 8 }),
      task({ options: '{"timeoutMs":5}' }),
      task({ flags: '{"a":true}' }),
      task({ goodUntil: "2090-01-01T00:00:00.000Z" }),
    ];
    const mixed = kinds.flatMap((kind) => [task(), task(), kind, { ...kind, input: "2" }]);
    const alone = mixed.map((each) => copyTexts([each]));

    const [submissions, ready] = copyTexts(mixed);
    expect(submissions).toBe(alone.map(([line]) => line).join(""));
    expect(ready).toBe(alone.map(([, line]) => line).join(""));
  });

  test.each([
    ["a tab", "a\tb", "a\\tb"],
    ["a newline", "a\nb", "a\\nb"],
    ["a carriage return", "a\r\nb", "a\\r\\nb"],
    ["a backslash", "C:\\temp\\new", "C:\\\\temp\\\\new"],
    ["the sign for null", "\\N", "\\\\N"],
    ["the sign for the end", "\\.", "\\\\."],
  ])("escapes %s in every column", (_, text, escaped) => {
    const [line] = copyTexts([task({ name: text, input: text, options: text, flags: text })]);

    const fields = line.trimEnd().split("\t");
    expect([fields[1], fields[4], fields[5], fields[6]]).toEqual(Array(4).fill(escaped));
  });

  test.each([
    ["quotes", JSON.stringify('she said "now"')],
    ["escapes of JSON's own", JSON.stringify("\t\n\r\b\f\u0001\\")],
    ["the sign for null", JSON.stringify("\\N")],
    ["the input null", "null"],
    ["emoji", JSON.stringify("👩‍👩‍👧‍👦 你好")],
    ["line separators of Unicode", '"\u2028\u2029\u0085"'],
    ["100 kB", JSON.stringify("x\\".repeat(25_000))],
  ])("keeps %s unchanged", (_, input) => {
    const [line] = copyTexts([task({ input })]);

    expect(read(line)).toEqual([[id, "note", "mail", "7", input, null, null, null]]);
  });

  test("writes texts that the reader gets back unchanged", () => {
    const text = fc.string({
      unit: fc.constantFrom("\\", "\t", "\n", "\r", "N", ".", "t", "é", "👍"),
    });
    fc.assert(
      fc.property(fc.array(fc.record({ name: text, input: text, flags: text })), (given) => {
        fc.pre(given.length > 0);
        const [lines] = copyTexts(given.map((fields) => task(fields)));
        expect(read(lines).map((fields) => [fields[1], fields[4], fields[6]])).toEqual(
          given.map(({ name, input, flags }) => [name, input, flags]),
        );
      }),
    );
  });
});
