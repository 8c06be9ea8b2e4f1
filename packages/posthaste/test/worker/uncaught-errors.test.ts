import { afterAll, beforeAll, expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";
import { recordingLogger } from "../support/loggers.ts";

const db = useDatabase();
useCleanTables(db);

// The test runner's own listeners would report the uncaught errors of these tasks as errors of the test.
const events = ["unhandledRejection", "uncaughtException"] as const;
const others = events.map((event) => process.listeners(event as "uncaughtException"));
beforeAll(() => events.forEach((event) => process.removeAllListeners(event)));
afterAll(() =>
  events.forEach((event, index) => others[index]?.forEach((each) => process.on(event, each))),
);

/** Runs a handler with an uncaught error beside handlers without one, and then another task. */
async function endOf(run: () => Promise<unknown>) {
  const logger = recordingLogger();
  const careless = defineTask({
    name: "careless",
    run: async () => {
      await run();
      return "returned";
    },
  });
  const bystander = defineTask({
    name: "bystander",
    run: async () => {
      for (let turn = 0; turn < 20; turn++) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      return "untouched";
    },
  });
  const app = db.app({ tasks: [careless, bystander], logger });
  const worker = await app.worker({ concurrency: 10 }).start();
  const beside = await app.sendMany(
    bystander,
    Array.from({ length: 5 }, () => undefined),
  );
  const handle = await app.send(careless);
  const result = await handle.result({ timeoutMs: 30_000 });
  for (const each of beside) expect(await each.value({ timeoutMs: 30_000 })).toBe("untouched");
  const next = await app.send(bystander);
  expect(await next.value({ timeoutMs: 30_000 })).toBe("untouched");
  const said = () =>
    logger.lines.filter(({ message }) => message.includes("unawaited promise or callback"));
  return { result, said, app, worker, taskId: handle.id };
}

/** Waits until an unawaited promise has rejected: Node reports the rejections of a turn at its end. */
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
};

test("a detached promise that rejects while the task runs fails the task with UNHANDLED_ERROR", async () => {
  const { result, said, taskId } = await endOf(async () => {
    void Promise.reject(new RangeError("let go"));
    await turns();
  });
  expect(result).toMatchObject({
    ok: false,
    error: { code: "UNHANDLED_ERROR", message: "let go", cause: { name: "RangeError" } },
  });
  expect(said()).toMatchObject([{ level: "error", fields: { task: taskId, name: "careless" } }]);
});

test("a timer's callback that throws fails the task with UNHANDLED_ERROR", async () => {
  const { result } = await endOf(async () => {
    setTimeout(() => {
      throw new RangeError("thrown by a timer");
    }, 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
  });
  expect(result).toMatchObject({
    error: { code: "UNHANDLED_ERROR", message: "thrown by a timer" },
  });
});

test("a rejection with a value that cannot become text fails the task, not the worker", async () => {
  const { result } = await endOf(async () => {
    void Promise.reject(Object.create(null) as Error);
    await turns();
  });
  expect(result).toMatchObject({ error: { code: "UNHANDLED_ERROR" } });
});

test("a detached promise that rejects in a nested call fails its task", async () => {
  const { result } = await endOf(async () => {
    const inner = async (): Promise<void> => {
      await turns();
      throw new Error("from the depth");
    };
    queueMicrotask(() => void inner());
    await turns();
    await turns();
  });
  expect(result).toMatchObject({ error: { message: "from the depth" } });
});

test("the first of several uncaught errors is the error of the task", async () => {
  const { result } = await endOf(async () => {
    void Promise.reject(new Error("first"));
    await turns();
    void Promise.reject(new Error("second"));
    await turns();
  });
  expect(result).toMatchObject({ error: { message: "first" } });
});

test("a promise that rejects after its task has ended is logged, and the result stands", async () => {
  const late = gate();
  const { result, said } = await endOf(async () => {
    void late.opened.then(() => Promise.reject(new Error("too late")));
  });
  expect(result).toEqual({ ok: true, value: "returned" });
  late.open();
  await expect.poll(said).toHaveLength(1);
  expect(said()[0]?.message).toContain("the result of the task stays");
});

test("an error that the task awaits and catches is not reported", async () => {
  const { result, said } = await endOf(async () => {
    await Promise.reject(new Error("caught")).catch(() => undefined);
    const handled = Promise.reject(new Error("handled in time"));
    await Promise.allSettled([handled]);
  });
  expect(result).toEqual({ ok: true, value: "returned" });
  expect(said()).toEqual([]);
});

test("an error that belongs to no task is left to Node and to the program's own listeners", async () => {
  const seen: unknown[] = [];
  const listener = (reason: unknown): void => void seen.push(reason);
  process.on("unhandledRejection", listener);
  try {
    const { said } = await endOf(async () => undefined);
    const stray = new Error("nobody's");
    void Promise.reject(stray);
    await turns();
    expect(seen).toEqual([stray]);
    expect(said()).toEqual([]);
  } finally {
    process.off("unhandledRejection", listener);
  }
});
