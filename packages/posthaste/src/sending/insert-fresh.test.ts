import { describe, expect, test } from "vitest";
import { defineTask } from "../define/define-task.ts";
import type { TaskOptions } from "../define/send-options.ts";
import { readConfig } from "../config/config.ts";
import { composeTask } from "./compose-task.ts";
import { isCopied } from "./insert-fresh.ts";

const { config } = readConfig({}, {});
const ours = { isOurs: true };
const behindPooler = { isOurs: false };

function tasks(count: number, last?: TaskOptions) {
  const task = defineTask({ name: "note", flags: ["urgent"], timeoutMs: 5_000 });
  return Array.from({ length: count }, (_, n) =>
    composeTask(task, n, n === count - 1 ? last : undefined, config),
  );
}

describe("isCopied", () => {
  test("is true from eight tasks on", () => {
    expect([7, 8, 2_000].map((count) => isCopied(ours, tasks(count)))).toEqual([false, true, true]);
  });

  test("is false behind a pooler", () => {
    expect(isCopied(behindPooler, tasks(100))).toBe(false);
  });

  test.each([
    [{ delayMs: 5 }],
    [{ delayMs: 0 }],
    [{ runAt: new Date("2020-01-01") }],
    [{ key: "k" }],
    [{ id: "01900000-0000-7000-8000-000000000001" }],
  ])("is false with %o among the tasks", (options) => {
    expect(isCopied(ours, tasks(100, options))).toBe(false);
  });

  test.each([
    [{ goodUntil: new Date("2090-01-01") }],
    [{ flags: ["a"] }],
    [{ queue: "mail", priority: 5 }],
  ])("is true with %o", (options) => {
    expect(isCopied(ours, tasks(100, options))).toBe(true);
  });
});
