/** Workers whose liveness session is lost, or that other workers declare dead. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { defineTask, posthaste, TaskAborted } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { startFaultProxy, type FaultProxy } from "../support/fault-proxy.ts";
import { recordingLogger, silentLogger } from "../support/loggers.ts";
import { useHeldTasks } from "../worker/held-task.ts";

const db = useDatabase();
useCleanTables(db);
const heldTask = useHeldTasks();
const fine = defineTask({ name: "fine", run: (text: string) => text });

let proxy: FaultProxy | undefined;
afterEach(async () => {
  await proxy?.close();
  proxy = undefined;
});

const workers = (): Promise<object[]> =>
  db.sql("select worker_id, state, liveness_key from posthaste.workers order by started_at");

test("workers replace sessions that are ended repeatedly within the grace, and no worker is declared dead", async () => {
  const recovery = { crashGraceMs: 4_000 };
  const apps = Array.from({ length: 3 }, () => db.app({ tasks: [fine], recovery }));
  for (const app of apps) await app.worker().start();
  const before = await workers();

  for (const end = Date.now() + 8_000; Date.now() < end; await sleep(700)) {
    await db.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'posthaste liveness'`,
    );
  }

  const after = await workers();
  expect(after.map((row) => ({ ...row, liveness_key: 0 }))).toEqual(
    before.map((row) => ({ ...row, state: "running", liveness_key: 0 })),
  );
  expect(after).not.toEqual(before); // the locks have new keys
});

test("a worker that was declared dead aborts its tasks, registers under a new id, and continues", async () => {
  const held = heldTask("held", { onCrash: "requeue" });
  const logger = recordingLogger();
  const app = db.app({ tasks: [held.task, fine], logger, recovery: { crashGraceMs: 1_000 } });
  const worker = await app.worker().start();
  const before = worker.id;
  const handle = await app.send(held.task, "x");
  await held.begun(1);

  await db.sql("update posthaste.workers set state = 'dead', died_at = now()");

  await expect.poll(() => worker.id).not.toBe(before);
  const { signal } = held.bodies[0]?.ctx ?? {};
  expect(signal?.reason).toBeInstanceOf(TaskAborted);
  expect(signal?.reason).toMatchObject({ reason: "CLAIM_LOST" });
  expect(await (await app.send(fine, "next")).value({ timeoutMs: 30_000 })).toBe("next");
  expect(await workers()).toMatchObject([
    { worker_id: before, state: "dead" },
    { worker_id: worker.id, state: "running" },
  ]);
  // The crash rule requeues the task of the dead worker, and the worker runs it again under its new id.
  await held.begun(2);
  held.bodies[1]?.finish.open();
  expect(await handle.value({ timeoutMs: 30_000 })).toBe("x done");
  expect(held.bodies.map(({ ctx }) => ctx.workerId)).toEqual([before, worker.id]);
  expect(held.bodies.map(({ ctx }) => ctx.attempt)).toEqual([1, 2]);

  await worker.stop();
  const connections = (): Promise<object[]> =>
    db.sql(
      `select from pg_stat_activity
        where datname = current_database() and application_name in ('posthaste liveness', 'posthaste worker')`,
    );
  await expect.poll(connections).toEqual([]);
});

test("a worker that cannot write heartbeats aborts its tasks and claims none; when it can again, the crash rule decides about the tasks, and the worker continues", async () => {
  const held = heldTask("held", { onCrash: "requeue" });
  const once = heldTask("once");
  const { hostname, port } = new URL(db.url);
  proxy = await startFaultProxy({
    target: { host: hostname, port: Number(port) },
    toServer: () => "none",
    toClient: () => "none",
  });
  const url = new URL(db.url);
  url.host = `127.0.0.1:${proxy.port}`;
  const logger = recordingLogger();
  const recovery = {
    runnerHeartbeatIntervalMs: 1_000,
    claimerHeartbeatIntervalMs: 1_000,
    runningStaleThresholdMs: 3_000,
    claimedStaleThresholdMs: 3_000,
  };
  const app = posthaste({
    database: url.href,
    tasks: [held.task, once.task, fine],
    logger,
    recovery,
  });
  const producer = db.app({ logger: silentLogger });
  try {
    await app.worker({ concurrency: 2, onBlocked: "report" }).start();
    const handle = await producer.send(held.task, "x");
    const failing = await producer.send(once.task, "y");
    await Promise.all([held.begun(1), once.begun(1)]);
    const { signal } = held.bodies[0]?.ctx ?? {};

    proxy.fallSilent();
    await expect.poll(() => signal?.aborted).toBe(true);
    expect(signal?.reason).toMatchObject({ reason: "CLAIM_LOST" });
    const next = await producer.send(fine, "next");

    proxy.speak();
    proxy.cutAll();
    expect(await next.value({ timeoutMs: 30_000 })).toBe("next");
    await held.begun(2);
    held.finishAll();
    expect(await handle.value({ timeoutMs: 20_000 })).toBe("x done");
    expect(await failing.result({ timeoutMs: 20_000 })).toMatchObject({
      ok: false,
      error: { code: "WORKER_CRASHED" },
    });
    expect(once.inputs()).toEqual(["y"]);
    // There is no other worker, so the worker's own decision is the first.
    expect(
      await db.sql("select reason, decision from posthaste.recoveries order by decision"),
    ).toEqual([
      { reason: "worker cut off", decision: "fail" },
      { reason: "worker cut off", decision: "requeue" },
    ]);
    const said = logger.lines.map(({ message }) => message).join("\n");
    expect(said).toContain("other workers may take them");
    expect(said).toContain("heartbeats stored again; claiming tasks again");
  } finally {
    held.finishAll();
    once.finishAll();
    await app.close();
  }
});
