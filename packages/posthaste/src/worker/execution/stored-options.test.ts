import { describe, expect, test } from "vitest";
import { defineTask } from "../../define/define-task.ts";
import { readAttemptOptions } from "./stored-options.ts";

const task = defineTask({ name: "t", timeoutMs: 7, onCrash: "requeue", run: () => null });
const none = { retry: null, timeoutMs: undefined, onCrash: undefined };

describe("readAttemptOptions", () => {
  test("reads the sent options, whatever it read before", () => {
    const hurried = '{"timeoutMs": 5}';
    const careful = '{"onCrash": "fail"}';
    for (const options of [hurried, hurried, careful, hurried, careful, careful]) {
      expect(readAttemptOptions(options, task)).toEqual(
        options === hurried ? { ...none, timeoutMs: 5 } : { ...none, onCrash: "fail" },
      );
    }
  });

  test("takes the definition's options for a task that was sent without any", () => {
    readAttemptOptions('{"timeoutMs": 5}', task);
    expect(readAttemptOptions(null, task)).toEqual({ ...none, timeoutMs: 7, onCrash: "requeue" });
    expect(readAttemptOptions(null, undefined)).toEqual(none);
  });

  test.each(["{}", "[]", "null", '"x"', '{"timeoutMs": -1, "onCrash": "sing", "retry": 3}'])(
    "ignores %s, perhaps sent from SQL",
    (options) => {
      expect(readAttemptOptions(options, task)).toEqual(none);
    },
  );
});
