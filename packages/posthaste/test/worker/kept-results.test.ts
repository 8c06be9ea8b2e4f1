/** PostgreSQL refuses to store a result for a reason other than the result: the worker keeps the result and writes it later. */
import { describe, expect, test } from "vitest";
import { defineTask, defineWorkflow } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger } from "../support/loggers.ts";
import { useRefusals } from "../support/refusals.ts";
import { waitUntil } from "../support/wait-until.ts";
import { useHeldTasks } from "./held-task.ts";

const db = useDatabase();
useCleanTables(db);
const refusals = useRefusals(db, "finished_tasks");
const heldTask = useHeldTasks();

const statuses = async (): Promise<string[]> =>
  (await db.sql<{ status: string }>("select status from posthaste.tasks order by id")).map(
    ({ status }) => status,
  );

const ways = [
  ["by default", {}],
  ["with startAhead", { prefetchBuffer: 3, startAhead: true }],
] as const;

describe.each(["53100", "53200", "58030", "XX000"])("while PostgreSQL answers %s", (code) => {
  test.each(ways)(
    "%s the worker keeps results in memory and writes them when the error is over",
    async (_, config) => {
      const held = heldTask("held", { onCrash: "requeue" });
      const logger = recordingLogger();
      const app = db.app({ ...config, tasks: [held.task], logger });
      await app.worker({ concurrency: 6 }).start();
      const handles = await app.sendMany(held.task, ["a", "b", "c", "d", "e", "f"]);
      await held.begun(6);
      await refusals.begin(code);
      held.finishAll();
      await refusals.met(3);
      expect(await statuses()).toEqual(Array.from({ length: 6 }, () => "RUNNING"));
      await refusals.end();
      const values = await Promise.all(handles.map((each) => each.value({ timeoutMs: 20_000 })));
      expect(values).toEqual(["a done", "b done", "c done", "d done", "e done", "f done"]);
      expect(held.inputs().sort()).toEqual(["a", "b", "c", "d", "e", "f"]);
      const [line] = logger.lines.filter(({ message }) => message.includes("in memory"));
      expect(line).toMatchObject({
        level: "warn",
        fields: { code, task: expect.any(String), name: "held" },
      });
      await waitUntil("the line that says that it is over", () =>
        logger.lines.find(({ message }) => message.includes("results again")),
      );
    },
  );
});

test("the worker keeps the end of a workflow's node and writes it later", async () => {
  const step = defineTask({ name: "step", run: (n: number) => n + 1 });
  const steps = defineWorkflow({
    name: "steps",
    build: (flow) => flow.node("one", step, 1).output,
  });
  const app = db.app({ tasks: [step] });
  await app.worker({ concurrency: 2 }).start();
  await refusals.begin("53100");
  const run = await app.start(steps);
  await refusals.met(2);
  await refusals.end();
  expect(await run.result({ timeoutMs: 20_000 })).toMatchObject({ ok: true });
});

test("a result that PostgreSQL refuses five times, while it stores other results, fails its task", async () => {
  const echo = defineTask({ name: "echo", run: (text: string) => text });
  const logger = recordingLogger();
  const app = db.app({ tasks: [echo], logger });
  await app.worker({ concurrency: 4 }).start();
  await refusals.begin("XX000", `new.result = '"poison"'`);
  const poisoned = await app.send(echo, "poison");
  await waitUntil(
    "the task to end",
    async () => {
      expect(await (await app.send(echo, "fine")).value({ timeoutMs: 10_000 })).toBe("fine");
      return (await poisoned.info())?.status !== "RUNNING";
    },
    60_000,
  );
  expect(await poisoned.result()).toMatchObject({
    error: {
      code: "WORKER_SERIALIZATION_ERROR",
      message: expect.stringContaining("PostgreSQL refused the result"),
    },
  });
  const said = logger.lines.filter(({ message }) => /refused the result of the task/.test(message));
  expect(said.map(({ level }) => level)).toEqual(["warn", "debug", "debug", "debug", "debug"]);
}, 90_000);

test("the worker retries a refused result without limit while no other result is stored, because the database may be at fault", async () => {
  const echo = defineTask({ name: "echo", run: (text: string) => text });
  const app = db.app({ tasks: [echo] });
  await app.worker({ concurrency: 4 }).start();
  await refusals.begin("XX000", `new.result = '"poison"'`);
  const alone = await app.send(echo, "poison");
  await refusals.met(6);
  expect(await statuses()).toEqual(["RUNNING"]);
  await refusals.end();
  expect(await alone.value({ timeoutMs: 20_000 })).toBe("poison");
}, 60_000);

test("a kept result occupies its slot: a worker has at most one batch more of unwritten results than slots", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task] });
  await app.worker({ concurrency: 2 }).start();
  const handles = await app.sendMany(held.task, ["a", "b", "c", "d", "e"]);
  await held.begun(2);
  await refusals.begin("53100");
  // When "a" and "b" are on their way, their slots are free. When they have been refused, they occupy slots again.
  held.finishAll();
  await refusals.met(4);
  held.finishAll();
  await refusals.met(8);
  expect(held.inputs().length).toBeLessThanOrEqual(4);
  expect((await statuses()).filter((status) => status === "RUNNING").length).toBeLessThanOrEqual(4);
  await refusals.end();
  for (const count of [3, 4, 5]) {
    await held.begun(count);
    held.finishAll();
  }
  await Promise.all(handles.map((each) => each.value({ timeoutMs: 20_000 })));
});

test("a kept result delays neither claims nor other results", async () => {
  const echo = defineTask({ name: "echo", run: (text: string) => text });
  const app = db.app({ tasks: [echo] });
  await app.worker({ concurrency: 2 }).start();
  await refusals.begin("42501", `new.result = '"poison"'`);
  const poisoned = await app.send(echo, "poison");
  await refusals.met(1);
  const others = await app.sendMany(
    echo,
    Array.from({ length: 50 }, (_, n) => String(n)),
  );
  await Promise.all(others.map((each) => each.value({ timeoutMs: 20_000 })));
  expect((await poisoned.info())?.status).toBe("RUNNING");
  await refusals.end();
  expect(await poisoned.value({ timeoutMs: 20_000 })).toBe("poison");
});

test.each([
  ["42501", "posthaste roles"],
  ["42P01", "posthaste roles"],
])(
  "on %s the worker logs the commands that add the missing right or table, and keeps the result",
  async (code, advice) => {
    const echo = defineTask({ name: "echo", run: (text: string) => text });
    const logger = recordingLogger();
    const app = db.app({ tasks: [echo], logger });
    await app.worker({ concurrency: 4 }).start();
    await refusals.begin(code, `new.result = '"poison"'`);
    const poisoned = await app.send(echo, "poison");
    for (let tries = 1; tries <= 5; tries++) {
      await refusals.met(tries);
      await (await app.send(echo, "fine")).value({ timeoutMs: 10_000 });
    }
    await refusals.met(6);
    expect((await poisoned.info())?.status).toBe("RUNNING");
    const line = logger.lines.find(({ message }) => message.includes(advice));
    expect(line).toMatchObject({ level: "error", fields: { code } });
    await refusals.end();
    expect(await poisoned.value({ timeoutMs: 20_000 })).toBe("poison");
  },
  60_000,
);

test("on 23505 the stored end of the task stays, and the worker removes its claim", async () => {
  const held = heldTask();
  const logger = recordingLogger();
  const app = db.app({ tasks: [held.task], logger });
  await app.worker({ concurrency: 2 }).start();
  const handle = await app.send(held.task, "a");
  await held.begun(1);
  await db.sql(
    `insert into posthaste.finished_tasks (task_id, finished_at, result, claimed_at, started_at, claim_id, worker_id, attempt_no)
     select task_id, now(), '"restored"', claimed_at, started_at, gen_random_uuid(), worker_id, 1 from posthaste.active_tasks`,
  );
  held.finishAll();
  await waitUntil("the claim to go", async () => {
    return (await db.sql("select from posthaste.active_tasks")).length === 0;
  });
  expect(await handle.value({ timeoutMs: 5_000 })).toBe("restored");
  expect(logger.lines.map(({ message }) => message)).toContainEqual(
    expect.stringContaining("had already ended"),
  );
  const next = await app.send(held.task, "b");
  await held.begun(2);
  held.finishAll();
  expect(await next.value({ timeoutMs: 10_000 })).toBe("b done");
});

test("a stopping worker drops a kept result after its grace period and logs that it was not stored", async () => {
  const held = heldTask();
  const logger = recordingLogger();
  const app = db.app({ tasks: [held.task], logger });
  const worker = await app.worker({ concurrency: 2, shutdownGraceMs: 1_000 }).start();
  await app.send(held.task, "a");
  await held.begun(1);
  await refusals.begin("53100");
  held.finishAll();
  await refusals.met(1);
  const begun = performance.now();
  await worker.stop();
  expect(performance.now() - begun).toBeLessThan(6_000);
  expect(await statuses()).toEqual(["RUNNING"]);
  expect(logger.lines.map(({ message }) => message)).toContainEqual(
    expect.stringContaining("could not store task results before the worker stopped"),
  );
});
