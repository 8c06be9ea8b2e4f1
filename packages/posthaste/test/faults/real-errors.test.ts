/** Errors that PostgreSQL itself raises: the worker is connected to the server without a proxy. */
import pg from "pg";
import { expect, test } from "vitest";
import { posthaste } from "../../src/index.ts";
import { untilWaiting } from "../locks/until-waiting.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger } from "../support/loggers.ts";
import { startStoppableServer } from "../support/stoppable-server.ts";
import { waitUntil } from "../support/wait-until.ts";
import { useHeldTasks } from "../worker/held-task.ts";
import { saidOfDatabase } from "./faulty-wire.ts";

const db = useDatabase();
useCleanTables(db);
const heldTask = useHeldTasks();

const resilience = { dbRetryInitialMs: 100, dbRetryMaxMs: 500 };

/** Terminates every session of Posthaste in this database, or only the sessions of one role. */
async function terminateAll(role = "%"): Promise<number> {
  const rows = await db.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name like 'posthaste %' and usename like $1`,
    [role],
  );
  return rows.length;
}

test("57P01: handlers end undisturbed and their results are stored when every session is terminated three times", async () => {
  const held = heldTask();
  const logger = recordingLogger();
  const app = db.app({ tasks: [held.task], logger, resilience });
  await app.worker({ concurrency: 3 }).start();
  const handles = await app.sendMany(held.task, ["a", "b", "c"]);
  await held.begun(3);
  for (const [n, body] of held.bodies.entries()) {
    expect(await terminateAll()).toBeGreaterThanOrEqual(1);
    body.finish.open();
    await expect.poll(() => db.sql("select from posthaste.finished_tasks")).toHaveLength(n + 1);
  }
  const values = await Promise.all(handles.map((each) => each.value({ timeoutMs: 30_000 })));
  expect(values).toEqual(["a done", "b done", "c done"]);
  expect(held.bodies.map(({ ctx }) => ctx.signal.aborted)).toEqual([false, false, false]);
});

test("53300: a worker starts when a connection is free, and reconnects after it lost all connections", async () => {
  const held = heldTask();
  const logger = recordingLogger();
  const role = `few_${crypto.randomUUID().slice(0, 8)}`;
  const limit = (connections: number) =>
    db.sql(`alter role ${role} connection limit ${connections}`);
  await db.sql(`create role ${role} login password 'few' connection limit 0`);
  await db.sql(`grant all on schema posthaste to ${role}`);
  await db.sql(`grant all on all tables in schema posthaste to ${role}`);
  const url = new URL(db.url);
  [url.username, url.password] = [role, "few"];
  const app = posthaste({ database: url.href, tasks: [held.task], logger, resilience });
  try {
    const starting = app.worker({ concurrency: 1 }).start();
    await expect.poll(() => saidOfDatabase(logger)).toEqual(["gone"]);
    expect(String(logger.lines.at(-1)?.fields["error"])).toContain("no free connection");
    await limit(10);
    await starting;
    await expect.poll(() => saidOfDatabase(logger)).toEqual(["gone", "back"]);

    const handle = await db.app().send(held.task, "x");
    await held.begun(1);
    await limit(0);
    await terminateAll(role);
    held.finishAll();
    await expect.poll(() => saidOfDatabase(logger)).toEqual(["gone", "back", "gone"]);
    await limit(10);
    expect(await handle.value({ timeoutMs: 30_000 })).toBe("x done");
    await expect.poll(() => saidOfDatabase(logger)).toEqual(["gone", "back", "gone", "back"]);
    expect(held.bodies.map(({ ctx }) => ctx.signal.aborted)).toEqual([false]);
  } finally {
    await app.close();
    await db.sql(`drop owned by ${role}`);
    await db.sql(`drop role ${role}`);
  }
});

test("40P01: the worker writes the ends of its tasks after their statement is the victim of a real deadlock", async () => {
  const held = heldTask();
  const logger = recordingLogger();
  const app = db.app({ tasks: [held.task], logger, resilience });
  await app.worker({ concurrency: 2 }).start();
  const handles = await app.sendMany(held.task, ["a", "b"]);
  await held.begun(2);
  const [low, high] = handles.map(({ id }) => id).sort();
  const rival = new pg.Client(db.url);
  await rival.connect();
  try {
    // The long deadlock_timeout leaves it to the worker's session to find the deadlock.
    await rival.query("set deadlock_timeout = '60s'");
    await rival.query("begin");
    const lock = "select from posthaste.active_tasks where task_id = $1 for update";
    await rival.query(lock, [high]);
    held.finishAll(); // one statement writes both ends, and locks in the order of ids
    await untilWaiting(db, 1);
    await rival.query(lock, [low]); // returns when the worker has received 40P01
    await rival.query("rollback");
  } finally {
    await rival.end();
  }
  const values = await Promise.all(handles.map((each) => each.value({ timeoutMs: 30_000 })));
  expect(values).toEqual(["a done", "b done"]);
  const [gone] = logger.lines.filter(({ message }) => message.startsWith("database unreachable"));
  expect(String(gone?.fields["error"])).toContain("deadlock detected");
  expect(held.inputs().sort()).toEqual(["a", "b"]);
});

test("57P03: a worker that is started while the server shuts down starts when the server is up again", async () => {
  const held = heldTask();
  const logger = recordingLogger();
  const server = await startStoppableServer();
  const app = posthaste({ database: server.url, tasks: [held.task], logger, resilience });
  const last = new pg.Client(server.url);
  try {
    await last.connect();
    await server.beginToStop();
    const starting = app.worker().start();
    const refusal = await waitUntil("the server to refuse the worker", () =>
      logger.lines.find(({ message }) => message.startsWith("database unreachable")),
    );
    expect(String(refusal.fields["error"])).toContain("starting up or shutting down");
    await last.end(); // now the server stops
    await server.startAgain();
    await starting;
    const handle = await app.send(held.task, "x");
    await held.begun(1);
    held.finishAll();
    expect(await handle.value({ timeoutMs: 30_000 })).toBe("x done");
    expect(saidOfDatabase(logger)).toEqual(["gone", "back"]);
  } finally {
    await app.close();
    await server.remove();
  }
});
