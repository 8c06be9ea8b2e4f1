/** The codes of a task type `fail`, `retryFor` and `result.error.code`. */
import { defineTask } from "../../src/define/define-task.ts";
import { exponential, fixed } from "../../src/define/retry-policies.ts";
import type { CodeOf } from "../../src/define/task.ts";
import { fail } from "../../src/domain/result.ts";
import type { ResultCode } from "../../src/domain/errors.ts";
import { expectType } from "./expect-type.ts";

const plain = defineTask({ name: "plain", run: () => 1 });
expectType<ResultCode>().is<CodeOf<typeof plain>>();

defineTask({ name: "listed", errors: ["A", "B"], run: (n: number) => (n > 1 ? fail("B") : n) });
defineTask({
  name: "not listed",
  errors: ["A", "B"],
  // @ts-expect-error C is not listed
  run: (n: number) => (n > 1 ? fail("C") : n),
});
defineTask({
  name: "not listed, async, with ctx",
  errors: ["A", "B"],
  // @ts-expect-error C is not listed
  run: async (n: number, ctx) => {
    if (ctx.attempt > 1) return fail("A");
    return n > 1 ? fail("C") : n;
  },
});
defineTask({
  name: "none listed",
  // @ts-expect-error the task has no codes of its own
  run: (n: number) => (n > 1 ? fail("A") : n),
});
// @ts-expect-error a built-in code is not a code of one's own
defineTask({ name: "built in", errors: ["A", "TASK_TIMEOUT"], run: () => 1 });

defineTask({
  name: "retries",
  errors: ["BUSY"],
  retry: exponential({ baseMs: 100, maxRetries: 3, retryFor: ["BUSY", "WORKER_CRASHED"] }),
  run: () => 1,
});
defineTask({
  name: "retries before errors",
  retry: fixed({ intervalsMs: [100], retryFor: ["BUSY"], jitter: false }),
  errors: ["BUSY"],
  run: () => 1,
});
defineTask({
  name: "retries whatever it was",
  retry: exponential({ baseMs: 100, maxRetries: 3, retryFor: "any", maxDelayMs: 5_000 }),
  run: () => 1,
});
const shared = exponential({ baseMs: 100, maxRetries: 3, retryFor: ["WORKER_CRASHED"] });
defineTask({ name: "shared policy", retry: shared, run: () => 1 });
defineTask({ name: "shared policy, own errors", errors: ["A"], retry: shared, run: () => 1 });

defineTask({
  name: "retries a code it does not have",
  errors: ["BUSY"],
  // @ts-expect-error BUSSY is neither listed nor built in
  retry: exponential({ baseMs: 100, maxRetries: 3, retryFor: ["BUSSY"] }),
  run: () => 1,
});
defineTask({
  name: "retries a code without having any",
  // @ts-expect-error BUSY is neither listed nor built in
  retry: fixed({ intervalsMs: [100], retryFor: ["BUSY"] }),
  run: () => 1,
});
defineTask({
  name: "one of two is unknown",
  // @ts-expect-error WORKER_CRASHD is neither listed nor built in
  retry: fixed({ intervalsMs: [100], retryFor: ["TASK_TIMEOUT", "WORKER_CRASHD"] }),
  run: () => 1,
});
// @ts-expect-error intervalsMs is missing
fixed({ retryFor: ["TASK_TIMEOUT"] });
// @ts-expect-error retryFor is missing
exponential({ baseMs: 100, maxRetries: 3 });
// @ts-expect-error a mistyped option
exponential({ baseMs: 100, maxRetires: 3, retryFor: "any" });

// @ts-expect-error a mistyped option
defineTask({ name: "mistyped", priorty: 3, run: () => 1 });
// @ts-expect-error every task has a name
defineTask({ run: () => 1 });
