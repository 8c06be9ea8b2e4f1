import { describe, expect, test } from "vitest";
import { defineTask } from "../../define/define-task.ts";
import { fixed, type RetryPolicyFor } from "../../define/retry-policies.ts";
import type { AnyTask } from "../../define/task.ts";
import { loggerOf } from "../../domain/logger.ts";
import { fail } from "../../domain/result.ts";
import { TaskAborted } from "../../domain/task-aborted.ts";
import { servicesWithoutDatabase } from "../../../test/support/attempt-services.ts";
import type { EndedTask } from "./ended-task.ts";
import { Attempt } from "./attempt.ts";

const claimed = {
  id: "t",
  claimId: "c",
  name: "n",
  queue: "q",
  priority: 7,
  enqueuedAt: 0,
  attemptNo: 3,
  retryCount: 1,
  input: "null",
  options: null,
};

function start(task: AnyTask, over: Partial<typeof claimed | { options: string }> = {}) {
  return new Attempt({ ...claimed, ...over }, task, servicesWithoutDatabase());
}

/** How it is to be settled. */
function ended(run: Attempt): Promise<EndedTask | undefined> {
  return new Promise((resolve) => run.run((_, end) => resolve(end)));
}

const failing = (retry?: RetryPolicyFor<never>) =>
  defineTask({ name: "n", errors: ["BUSY"], ...(retry && { retry }), run: () => fail("BUSY") });
const twice = fixed({ intervalsMs: [10, 20], retryFor: "any", jitter: false });

describe("Attempt", () => {
  test("settles a value under the claim of the attempt", async () => {
    const task = defineTask({ name: "n", run: (_: null, ctx) => ctx.attempt });
    expect(await ended(start(task))).toEqual({
      enqueuedAt: 0,
      times: { beganAt: expect.any(Number), endedAt: expect.any(Number) },
      id: "t",
      claimId: "c",
      name: "n",
      queue: "q",
      priority: 7,
      occupiesSlot: true,
      edge: "succeed",
      ran: true,
      result: "3",
    });
  });

  test("settles at once when the handler ends at once", () => {
    const ends: unknown[] = [];
    start(defineTask({ name: "n", run: () => 5 })).run((_, end) => ends.push(end));
    expect(ends).toMatchObject([{ edge: "succeed", result: "5" }]);
  });

  describe("retry policy", () => {
    const stored = (retry: unknown) => ({ options: JSON.stringify({ retry }) });

    test("is the sent one", async () => {
      expect(await ended(start(failing(), stored(twice)))).toMatchObject({
        edge: "retry",
        delayMs: 20,
      });
      expect(await ended(start(failing(twice), stored(undefined)))).toMatchObject({ edge: "fail" });
    });

    test("is that of the worker's definition when none was sent", async () => {
      expect(await ended(start(failing(twice)))).toMatchObject({ edge: "retry", delayMs: 20 });
    });

    test.each(["null", "5", '"x"', "[]", '{"retry":5}', '{"retry":{"kind":"fixed"}}'])(
      "is none when the stored one is invalid (%s, perhaps from SQL): the task fails",
      async (options) => {
        expect(await ended(start(failing(twice), { options }))).toMatchObject({
          edge: "fail",
          code: "BUSY",
        });
      },
    );
  });

  describe("signal", () => {
    const waiting = () => {
      const seen: { signal?: AbortSignal } = {};
      const task = defineTask({
        name: "n",
        run: async (_: null, { signal }) => {
          seen.signal = signal;
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          return "noticed";
        },
      });
      return { task, seen };
    };

    test.each([
      ["CLAIM_LOST", "lost its claim"],
      ["SHUTDOWN", "shutting down"],
      ["CANCEL_REQUESTED", "was cancelled"],
      ["TIMEOUT", "longer than its timeoutMs"],
    ] as const)("aborts with a TaskAborted reason: %s", async (reason, says) => {
      const { task, seen } = waiting();
      const run = start(task);
      const end = ended(run);
      run.abort(reason);
      await end;
      const { reason: given } = seen.signal ?? {};
      expect(given).toBeInstanceOf(TaskAborted);
      expect(given).toMatchObject({ name: "TaskAborted", reason });
      expect(String(given)).toContain(says);
    });

    test("has aborted already when the handler first reads it after the abort", async () => {
      const task = defineTask({ name: "n", run: (_: null, ctx) => ctx.signal.aborted });
      const run = start(task);
      run.abort("SHUTDOWN");
      expect(await ended(run)).toMatchObject({ result: "true" });
    });
  });

  describe("a detached promise that rejects", () => {
    test("fails the task while the handler runs", async () => {
      const run: Attempt = start(
        defineTask({
          name: "n",
          run: () => {
            run.attribute(new Error("detached"));
            return 5;
          },
        }),
      );
      expect(await ended(run)).toMatchObject({ edge: "fail", ran: true, code: "UNHANDLED_ERROR" });
    });

    test("is only logged after the handler has ended", async () => {
      const lines: string[] = [];
      const log = loggerOf((_level, _fields, message) => lines.push(message));
      const task = defineTask({ name: "n", run: () => 5 });
      const run = new Attempt(claimed, task, servicesWithoutDatabase(log));
      const settled = await ended(run);
      run.attribute(Object.create(null));
      expect(settled).toMatchObject({ edge: "succeed" });
      expect(lines).toEqual([expect.stringContaining("the result of the task stays")]);
    });
  });
});
