/** Tasks for whose name the worker has no handler. */
import { describe, expect, test, vi } from "vitest";
import { defineTask, defineWorkflow } from "../../src/index.ts";
import { statementsIn } from "../support/wire-statements.ts";
import { useFaultyWires } from "../faults/faulty-wire.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";

const db = useDatabase();
useCleanTables(db);
const openWire = useFaultyWires(db);
vi.setConfig({ testTimeout: 60_000 });

const known = defineTask({ name: "known", run: () => "done" });
const unknown = defineTask({ name: "unknown", run: () => "done" });
const FIVE_HUNDRED = Array.from({ length: 500 }, () => undefined);

test("with unknownTasks: fail, a task with an unknown name fails at once with WORKER_RESOLUTION_ERROR", async () => {
  const app = db.app({ tasks: [known], unknownTasks: "fail" });
  await app.worker().start();
  const handle = await app.send(unknown);
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "WORKER_RESOLUTION_ERROR" },
  });
});

describe.each([
  ["claimed when a slot is free", {}],
  ["prefetched", { prefetchBuffer: 10 }],
  ["started ahead", { prefetchBuffer: 10, startAhead: true }],
])("by default an unknown task that is %s", (_, config) => {
  test("returns to its place, delays no other task, and runs on a worker that knows its name", async () => {
    const logger = recordingLogger();
    const app = db.app({ ...config, tasks: [known], logger });
    const waiting = await app.sendMany(unknown, FIVE_HUNDRED);
    const [before] = waiting;
    const placed = await before?.info();
    const worker = app.worker({ concurrency: 2 });
    await worker.start();
    const handle = await app.send(known);
    expect(await handle.value({ timeoutMs: 30_000 })).toBe("done");
    await waitUntil("every task is back in line", async () => {
      const [row] = await db.sql<{ n: number }>(
        "select count(*)::int as n from posthaste.ready_tasks",
      );
      return row?.n === 500;
    });
    expect(await before?.info()).toMatchObject({
      status: "PENDING",
      retryCount: 0,
      attempts: [],
      enqueuedAt: placed?.enqueuedAt,
    });
    expect(logger.lines.filter(({ message }) => message.includes("has no handler"))).toMatchObject([
      {
        level: "warn",
        fields: { name: "unknown", queue: "default" },
        message: "this worker has no handler for the task name; leaving the task in the queue",
      },
    ]);
    await worker.stop();
    await db
      .app({ tasks: [unknown] })
      .worker()
      .start();
    for (const each of waiting) await each.value({ timeoutMs: 30_000 });
  });
});

test("a worker that has met an unknown name claims no more tasks of that name, however often it polls", async () => {
  // Without direct start each task of a known name makes the worker claim.
  const app = db.app({
    tasks: [known],
    directStart: false,
    resilience: { notifyPollIntervalMs: 1_000 },
  });
  await app.worker().start();
  const first = await app.send(unknown);
  const claims = async (): Promise<unknown> =>
    db.sql("select task_id, xmin::text from posthaste.ready_tasks order by task_id");
  await waitUntil("it was claimed and is back", async () => {
    const rows = await db.sql("select from posthaste.ready_tasks where attempt_no is not null");
    return rows.length === 1;
  });
  await app.sendMany(unknown, FIVE_HUNDRED.slice(0, 20));
  const rows = await claims();
  for (let n = 0; n < 30; n++) await (await app.send(known)).value({ timeoutMs: 30_000 });
  await new Promise((resolve) => setTimeout(resolve, 2_500)); // two polls and surveys
  expect(await claims()).toEqual(rows); // a row that is claimed and released has another version
  expect((await first.info()).status).toBe("PENDING");
});

test("an unknown node of a run returns to its place, also when the end of the node before it claims it", async () => {
  const chain = defineWorkflow({
    name: "chain",
    build: (flow) =>
      flow.node("third", known, undefined, {
        after: flow.node("second", unknown, undefined, {
          after: flow.node("first", known, undefined),
        }),
      }).output,
  });
  const app = db.app({ tasks: [known], workflows: [chain] });
  await app.worker().start();
  const runs = await Promise.all([app.start(chain, undefined), app.start(chain, undefined)]);
  await waitUntil("both wait for a worker that knows the name", async () => {
    const rows = await db.sql(
      "select from posthaste.tasks where name = 'unknown' and status = 'PENDING'",
    );
    return rows.length === 2;
  });
  await db
    .app({ tasks: [unknown] })
    .worker()
    .start();
  for (const run of runs) expect(await run.value({ timeoutMs: 30_000 })).toBe("done");
});

test("a worker claims without a list of names until it meets an unknown name, and then excludes that name", async () => {
  const claims: string[] = [];
  const toServer = (bytes: Buffer) => {
    for (const statement of statementsIn(bytes)) {
      const text = statement.toString("latin1");
      if (text.includes('delete from "posthaste".ready_tasks')) claims.push(text);
    }
    return "none" as const;
  };
  const wire = await openWire({ toServer }, { tasks: [known] });
  await wire.app.worker().start();
  for (let n = 0; n < 10; n++) await (await wire.app.send(known)).value({ timeoutMs: 30_000 });
  const isRuled = (text: string): boolean => text.includes("horizon as materialized");
  expect(claims.length).toBeGreaterThan(0);
  expect(claims.filter(isRuled)).toEqual([]);
  await wire.app.send(unknown);
  await waitUntil("it has met the name", () => claims.some(isRuled));
  expect(
    claims
      .filter(isRuled)
      .every((text) => text.includes("{unknown}") || text.includes('{"unknown"}')),
  ).toBe(true);
  const met = claims.findIndex(isRuled);
  await (await wire.app.send(known)).value({ timeoutMs: 30_000 });
  expect(claims.slice(met).every(isRuled)).toBe(true);
});

test("a worker without tasks does not start", () => {
  expect(() => db.app().worker()).toThrowError(
    expect.objectContaining({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("no task that a worker could run"),
    }),
  );
});
