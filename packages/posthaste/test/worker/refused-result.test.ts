import { afterEach, beforeEach, expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";
import { recordingLogger } from "../support/loggers.ts";

const db = useDatabase();
useCleanTables(db);

beforeEach(async () => {
  await db.sql(
    `alter table posthaste.finished_tasks add constraint test_only check (result <> '"poison"') not valid`,
  );
});
afterEach(async () => {
  await db.sql("alter table posthaste.finished_tasks drop constraint test_only");
});

test.each([
  ["by default", {}],
  ["with startAhead", { prefetchBuffer: 5, startAhead: true }],
])(
  "%s a result that PostgreSQL refuses fails its task, the other tasks complete, and the worker continues",
  async (_, config) => {
    // The handlers end in the same turn, so that their ends are written together.
    const together = gate();
    let begun = 0;
    const echo = defineTask({
      name: "echo",
      onCrash: "requeue",
      run: async (text: string) => {
        if (++begun === 5) together.open();
        await together.opened;
        return text;
      },
    });
    const logger = recordingLogger();
    const app = db.app({ ...config, tasks: [echo], logger });
    await app.worker({ concurrency: 5 }).start();
    const handles = await app.sendMany(echo, ["a", "b", "poison", "c", "d"]);
    const results = await Promise.all(
      handles.map((handle) => handle.result({ timeoutMs: 30_000 })),
    );
    expect(results.map((result) => (result.ok ? result.value : result.error.code))).toEqual([
      "a",
      "b",
      "WORKER_SERIALIZATION_ERROR",
      "c",
      "d",
    ]);
    expect(results[2]).toMatchObject({
      error: { message: expect.stringContaining("PostgreSQL refused the result") },
    });
    expect(await handles[2]?.info()).toMatchObject({
      status: "FAILED",
      attempts: [{ attempt: 1, outcome: "FAILED" }],
    });
    expect(logger.lines.map(({ message }) => message)).toContain(
      "PostgreSQL cannot store the result of the task; the task failed",
    );
    expect(await (await app.send(echo, "next")).value({ timeoutMs: 30_000 })).toBe("next");
  },
);

test("ten poisoned results among a hundred fail ten tasks", async () => {
  const echo = defineTask({ name: "echo", run: (text: string) => text });
  const app = db.app({ tasks: [echo] });
  await app.worker({ concurrency: 20 }).start();
  const texts = Array.from({ length: 100 }, (_, n) => (n % 10 === 3 ? "poison" : String(n)));
  const handles = await app.sendMany(echo, texts);
  const results = await Promise.all(handles.map((handle) => handle.result({ timeoutMs: 30_000 })));
  expect(results.flatMap(({ ok }, n) => (ok ? [] : [n]))).toEqual([
    3, 13, 23, 33, 43, 53, 63, 73, 83, 93,
  ]);
});
