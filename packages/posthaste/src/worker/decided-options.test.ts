import { expect, test } from "vitest";
import { defineTask } from "../define/define-task.ts";
import { readDecided } from "./decided-options.ts";

const task = defineTask({ name: "t", timeoutMs: 7, onCrash: "requeue", run: () => null });
const none = { retry: null, timeoutMs: undefined, onCrash: undefined };

test("what was sent decides, whatever was read before it", () => {
  const hurried = '{"timeoutMs": 5}';
  const careful = '{"onCrash": "fail"}';
  for (const options of [hurried, hurried, careful, hurried, careful, careful]) {
    expect(readDecided(options, task)).toEqual(
      options === hurried ? { ...none, timeoutMs: 5 } : { ...none, onCrash: "fail" },
    );
  }
});

test("a task that was sent without options takes those of its definition, also after one that had some", () => {
  readDecided('{"timeoutMs": 5}', task);
  expect(readDecided(null, task)).toEqual({ ...none, timeoutMs: 7, onCrash: "requeue" });
  expect(readDecided(null, undefined)).toEqual(none);
});

test.each(["{}", "[]", "null", '"x"', '{"timeoutMs": -1, "onCrash": "sing", "retry": 3}'])(
  "%s, which SQL may have sent, decides nothing",
  (options) => {
    expect(readDecided(options, task)).toEqual(none);
  },
);
