import { describe, expect, test } from "vitest";
import { defineTask } from "../define/define-task.ts";
import { readItems } from "./send-many-items.ts";

const task = defineTask({ name: "t" });

describe("readItems", () => {
  test("gives plain inputs the shared options", () => {
    expect(readItems(task, [1, { a: 2 }, null, [3]], { priority: 5 })).toEqual([
      { input: 1, options: { priority: 5 } },
      { input: { a: 2 }, options: { priority: 5 } },
      { input: null, options: { priority: 5 } },
      { input: [3], options: { priority: 5 } },
    ]);
  });

  test("prefers an item's own options, field by field", () => {
    expect(
      readItems(task, [{ input: 1, priority: 1 }, { input: 2 }], { priority: 5, queue: "q" }),
    ).toEqual([
      { input: 1, options: { priority: 1, queue: "q" } },
      { input: 2, options: { priority: 5, queue: "q" } },
    ]);
  });

  test("returns no options when none are given", () => {
    expect(readItems(task, [{ input: undefined }], {})).toEqual([
      { input: undefined, options: undefined },
    ]);
  });

  test.each([undefined, null, "abc", { length: 1 }, new Set([1])])(
    "refuses %s as a list",
    (items) => {
      expect(() => readItems(task, items as unknown as unknown[], {})).toThrow(
        /no task "t" was sent: items: expected a list, found /,
      );
    },
  );
});
