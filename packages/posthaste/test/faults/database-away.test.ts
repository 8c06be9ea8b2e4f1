/** A worker while its database is unreachable, after the database is back, and when the worker gives up. */
import { expect, test } from "vitest";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import type { Fault } from "../support/fault-proxy.ts";
import { withoutBlockedLoop } from "../support/loggers.ts";
import { useHeldTasks } from "../worker/held-task.ts";
import { isGreeting, saidOfDatabase, stages, useFaultyWires } from "./faulty-wire.ts";

const db = useDatabase();
useCleanTables(db);
const openWire = useFaultyWires(db);
const heldTask = useHeldTasks();

/** A server that answers 57P03, starting up, while `isAway` is true. */
function switchable() {
  const server = {
    isAway: false,
    refusals: 0,
    written: [] as string[],
    toServer(bytes: Buffer): Fault {
      const text = bytes.toString("latin1");
      if (!server.isAway) {
        if (stages.finish.test(text)) server.written.push(text);
        return "none";
      }
      server.refusals++;
      return { fatal: "57P03" };
    },
  };
  return server;
}

test("a worker keeps results during an outage and writes them in the order in which their tasks ended", async () => {
  const held = heldTask();
  const server = switchable();
  const { app, logger } = await openWire(server, { tasks: [held.task] });
  await app.worker({ concurrency: 4 }).start();
  const handles = await db.app().sendMany(held.task, ["a", "b", "c", "d"]);
  await held.begun(4);
  server.isAway = true;
  for (const input of ["c", "a", "d", "b"]) {
    held.bodies.find((body) => body.input === input)?.finish.open();
    const before = server.refusals;
    await expect.poll(() => server.refusals).toBeGreaterThan(before); // one more round that failed
  }
  expect(await db.sql("select from posthaste.active_tasks")).toHaveLength(4);
  server.isAway = false;
  const values = await Promise.all(handles.map((each) => each.value({ timeoutMs: 30_000 })));

  expect(values).toEqual(["a done", "b done", "c done", "d done"]);
  const order = server.written.flatMap((text) => text.match(/[a-d](?= done)/g) ?? []);
  expect(order).toEqual(["c", "a", "d", "b"]);
  expect(held.bodies.map(({ ctx }) => ctx.signal.aborted)).toEqual(Array(4).fill(false));
  await expect.poll(() => saidOfDatabase(logger)).toEqual(["gone", "back"]);
});

test("a worker drops a kept result if its task was taken away during the outage", async () => {
  const held = heldTask();
  const server = switchable();
  const { app, logger } = await openWire(server, { tasks: [held.task] });
  await app.worker({ concurrency: 2 }).start();
  const handles = await db.app().sendMany(held.task, ["mine", "lost"]);
  await held.begun(2);
  server.isAway = true;
  held.finishAll();
  await expect.poll(() => server.refusals).toBeGreaterThan(0);
  const lost = handles[1]?.id;
  await db.sql("select posthaste.fail($1, 'TAKEN_AWAY')", [lost]);
  server.isAway = false;
  expect(await handles[0]?.value({ timeoutMs: 30_000 })).toBe("mine done");
  expect(await handles[1]?.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "TAKEN_AWAY" },
  });
  await expect
    .poll(() => logger.lines.filter(({ message }) => message.includes("dropping its late result")))
    .toMatchObject([{ fields: { task: lost } }]);
});

test("a worker leaves a server that has become read-only for the server that new connections lead to", async () => {
  const held = heldTask();
  let readOnlyUpTo = -1;
  let links = 0;
  const { app, logger } = await openWire(
    {
      toServer(bytes, link) {
        links = Math.max(links, link);
        return link <= readOnlyUpTo && !isGreeting(bytes) ? { error: "25006" } : "none";
      },
    },
    { tasks: [held.task] },
  );
  await app.worker({ concurrency: 1 }).start();
  const handle = await app.send(held.task, "x");
  await held.begun(1);
  readOnlyUpTo = links; // every open link; new links lead to the new primary
  held.finishAll();
  expect(await handle.value({ timeoutMs: 30_000 })).toBe("x done");
  const next = await app.send(held.task, "y");
  await held.begun(2);
  held.finishAll();
  expect(await next.value({ timeoutMs: 30_000 })).toBe("y done");
  await expect.poll(() => saidOfDatabase(logger)).toEqual(["gone", "back"]);
});

test("a worker stops after dbRetryMaxAttempts failures in a row, and stopped() rejects with the reason", async () => {
  const held = heldTask();
  const server = switchable();
  const { app, logger } = await openWire(server, {
    tasks: [held.task],
    resilience: { dbRetryInitialMs: 100, dbRetryMaxMs: 500, dbRetryMaxAttempts: 3 },
  });
  const worker = await app.worker({ concurrency: 1 }).start();
  const handle = await db.app().send(held.task, "x");
  await held.begun(1);
  server.isAway = true;
  held.finishAll();
  await expect(worker.stopped()).rejects.toThrow(/starting up or shutting down/);
  expect(logger.lines.map(({ message }) => message)).toContain("worker failed; it stops");
  await worker.stop();
  expect(saidOfDatabase(logger)).toEqual(["gone"]);
  expect(await handle.info()).toMatchObject({ status: "RUNNING" }); // left to recovery: its end is not stored
});

test("start() rejects with the reason after dbRetryMaxAttempts failures, and can be called again", async () => {
  const server = switchable();
  server.isAway = true;
  const { app, logger } = await openWire(server, {
    tasks: [heldTask().task],
    resilience: { dbRetryInitialMs: 100, dbRetryMaxMs: 500, dbRetryMaxAttempts: 3 },
  });
  const worker = app.worker();
  await expect(worker.start()).rejects.toThrow(/starting up or shutting down/);
  expect(saidOfDatabase(logger)).toEqual(["gone"]);
  server.isAway = false;
  await worker.start(); // start() can be called again
  await expect.poll(() => db.sql("select from posthaste.workers")).toHaveLength(1);
});

test("the worker and the listener each log a long outage once, not once for every retry", async () => {
  const held = heldTask();
  const server = switchable();
  const { app, logger, proxy } = await openWire(server, {
    tasks: [held.task],
    recovery: { runnerHeartbeatIntervalMs: 1_000, claimerHeartbeatIntervalMs: 1_000 },
  });
  await app.worker({ concurrency: 1 }).start();
  await db.app().send(held.task, "x");
  await held.begun(1);
  server.isAway = true;
  proxy.cutAll();
  const from = logger.lines.length;
  await expect.poll(() => server.refusals).toBeGreaterThan(15);
  const said = withoutBlockedLoop(logger.lines.slice(from)).filter(
    ({ level }) => level !== "debug",
  );
  expect(said.map(({ message }) => message).sort()).toEqual([
    "database unreachable; retrying, running tasks continue",
    "listener lost its connection; polling until it reconnects",
  ]);
  server.isAway = false;
});
