/** Hooks: each is told its own event, and `taskRecovery` answers one of four things. */
import type { EventName, HookEvent } from "../../src/define/hooks.ts";
import {
  posthaste,
  type FailedEvent,
  type Hooks,
  type TaskEvent,
  type TaskRecoveryAnswer,
  type TaskRecoveryEvent,
  type WorkerEvent,
} from "../../src/index.ts";
import { expectType } from "./expect-type.ts";

expectType<Exclude<keyof Hooks, "taskRecovery">>().is<EventName>();
expectType<TaskEvent>().is<HookEvent<"taskSent">>();
expectType<FailedEvent>().is<HookEvent<"taskFailed">>();
expectType<WorkerEvent>().is<HookEvent<"workerStopped">>();
expectType<TaskRecoveryEvent>().is<HookEvent<"taskRecovery">>();
expectType<"default" | "reschedule" | "failWithBackoff" | "skip">().is<
  TaskRecoveryAnswer["action"]
>();

posthaste({
  hooks: {
    taskSent: ({ id, name, queue }) => console.log(id.length, name.length, queue.length),
    taskFailed: [
      async ({ error, durationMs }) => console.log(error.code, durationMs.toFixed()),
      ({ attempt }) => void attempt.toFixed(),
    ],
    taskRecovery: ({ task, reason }) =>
      task.crashCount > 1 && reason === "WORKER_CRASHED"
        ? { action: "skip", untilMs: 60_000 }
        : { action: "default" },
  },
});

// @ts-expect-error no such event
posthaste({ hooks: { taskSend: () => undefined } });
// @ts-expect-error a function
posthaste({ hooks: { taskSent: "log" } });
// @ts-expect-error what is sent has not failed
posthaste({ hooks: { taskSent: ({ error }) => console.log(error) } });
// @ts-expect-error an answer is needed
posthaste({ hooks: { taskRecovery: () => undefined } });
// @ts-expect-error no such action
posthaste({ hooks: { taskRecovery: () => ({ action: "retry" }) } });
// @ts-expect-error an instant is a Date
posthaste({ hooks: { taskRecovery: () => ({ action: "reschedule", runAt: 5 }) } });
