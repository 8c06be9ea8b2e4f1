import { describe, expect, test } from "vitest";
import { gate } from "../../test/support/gate.ts";
import { collectingLogger } from "../testing/collecting-logger.ts";
import {
  hookKinds,
  type Hooks,
  type TaskRecoveryAnswer,
  type TaskRecoveryEvent,
} from "../define/hooks.ts";
import { hookRunner } from "./hook-runner.ts";

const sent = { id: "1", name: "mail", queue: "default" };
const interrupted = { task: { id: "1" } } as TaskRecoveryEvent;

function make(hooks: Hooks, timeLimitMs?: number) {
  const log = collectingLogger();
  return { log, ...hookRunner(hooks, log, timeLimitMs === undefined ? {} : { timeLimitMs }) };
}

describe("hookRunner", () => {
  describe("event hooks", () => {
    test("are absent when the app has none", () => {
      const { emit, askRecovery, observesEnds } = make({ taskSent: [] });
      expect(emit).toEqual({});
      expect(askRecovery).toBeUndefined();
      expect(observesEnds).toBe(false);
    });

    test("exist for every event, without the deciding hooks", () => {
      const all = Object.fromEntries(Object.keys(hookKinds).map((name) => [name, () => undefined]));
      const { emit, askRecovery } = make(all);
      expect(Object.keys(emit)).toEqual(
        Object.keys(hookKinds).filter((name) => name !== "taskRecovery"),
      );
      expect(askRecovery).toBeDefined();
    });

    test.each(["taskCompleted", "taskFailed", "taskRetried", "taskCancelled"])(
      "%s makes it observe the ends of handlers",
      (name) => expect(make({ [name]: () => undefined }).observesEnds).toBe(true),
    );

    test("are called in order, at once, each with the event", () => {
      const calls: unknown[] = [];
      const { emit } = make({
        taskSent: [(event) => void calls.push(1, event), (event) => void calls.push(2, event)],
      });
      emit.taskSent?.(sent);
      expect(calls).toEqual([1, sent, 2, sent]);
    });

    test("may throw or reject: the error is logged and the next hook is called", async () => {
      const calls: string[] = [];
      const { emit, log, idle } = make({
        taskSent: [
          () => {
            throw new Error("at once");
          },
          async () => {
            throw new Error("later");
          },
          () => void calls.push("third"),
        ],
      });
      emit.taskSent?.(sent);
      expect(calls).toEqual(["third"]);
      await idle();
      expect(log.lines).toEqual([
        expect.objectContaining({
          level: "warn",
          fields: { hook: "taskSent", task: "1", name: "mail", error: "Error: at once" },
        }),
        expect.objectContaining({
          level: "warn",
          fields: { hook: "taskSent", task: "1", name: "mail", error: "Error: later" },
        }),
      ]);
    });

    test("are not awaited by emit, and are awaited when the app closes", async () => {
      const opened = gate();
      let isOver = false;
      const { emit, idle } = make({
        workerStopped: () => opened.opened.then(() => void (isOver = true)),
      });
      emit.workerStopped?.({ workerId: "w", name: "w", queues: [] });
      expect(isOver).toBe(false);
      const idling = idle();
      opened.open();
      await idling;
      expect(isOver).toBe(true);
    });

    test("are awaited for a limited time", async () => {
      const { emit, idle, log } = make({ taskSent: () => new Promise<void>(() => {}) }, 5);
      emit.taskSent?.(sent);
      await idle();
      expect(log.lines).toEqual([expect.objectContaining({ level: "warn", fields: { hooks: 1 } })]);
    });
  });

  describe("deciding hooks", () => {
    const skip: TaskRecoveryAnswer = { action: "skip", untilMs: 5 };

    test("are asked in order until one answers", async () => {
      const calls: number[] = [];
      const { askRecovery } = make({
        taskRecovery: [
          () => {
            calls.push(1);
            return { action: "default" };
          },
          async () => {
            calls.push(2);
            return skip;
          },
          () => {
            calls.push(3);
            return { action: "failWithBackoff" };
          },
        ],
      });
      expect(await askRecovery?.(interrupted)).toEqual(skip);
      expect(calls).toEqual([1, 2]);
    });

    test("leave the default when all answer default", async () => {
      const { askRecovery, log } = make({ taskRecovery: () => ({ action: "default" }) });
      expect(await askRecovery?.(interrupted)).toEqual({ action: "default" });
      expect(log.lines).toEqual([]);
    });

    test.each<[string, () => unknown, string]>([
      [
        "throws",
        () => {
          throw new Error("no idea");
        },
        "Error: no idea",
      ],
      ["rejects", () => Promise.reject(new Error("no idea")), "Error: no idea"],
      [
        "takes too long",
        () => new Promise(() => {}),
        "Error: expected an answer within 5 ms, found none",
      ],
      [
        "answers nothing",
        () => undefined,
        "its answer is not valid: expected an object with an action, found undefined",
      ],
      [
        "answers nonsense",
        () => ({ action: "skip", untilMs: "soon" }),
        'untilMs: expected a whole number from 0 to 3153600000000, found "soon"',
      ],
    ])("are skipped with a log line: one that %s", async (_, hook, error) => {
      const { askRecovery, log } = make(
        { taskRecovery: [hook as () => TaskRecoveryAnswer, () => skip] },
        5,
      );
      expect(await askRecovery?.(interrupted)).toEqual(skip);
      expect(log.lines).toEqual([
        expect.objectContaining({
          level: "warn",
          fields: { hook: "taskRecovery", task: "1", error: expect.stringContaining(error) },
          message: 'taskRecovery hook failed; its answer counts as "default"',
        }),
      ]);
    });
  });
});
