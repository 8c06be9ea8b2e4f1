import { expect, test } from "vitest";
import { defineTask, TaskAborted } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger } from "../support/loggers.ts";
import { useHeldTasks } from "./held-task.ts";

const db = useDatabase();
useCleanTables(db);
const heldTask = useHeldTasks();

const fine = defineTask({ name: "fine", run: (text: string) => text });
const soon = { runnerHeartbeatIntervalMs: 1_000, claimerHeartbeatIntervalMs: 1_000 };

async function operator(call: string, id: string): Promise<unknown> {
  const [row] = await db.sql(`select posthaste.${call} as answer`, [id]);
  return row?.["answer"];
}

async function everyRow(id: string): Promise<unknown> {
  return db.sql(
    `select to_jsonb(t) as task, (select jsonb_agg(a order by attempt_no) from posthaste.attempts a where task_id = $1)
       from posthaste.tasks t where id = $1`,
    [id],
  );
}

test("the late end of a requeued task changes nothing and is logged, and the worker continues", async () => {
  const held = heldTask();
  const logger = recordingLogger();
  const app = db.app({ tasks: [held.task, fine], logger });
  await app.worker({ concurrency: 2 }).start();
  const handle = await app.send(held.task, "x");
  await held.begun(1);
  expect(await operator("requeue($1)", handle.id)).toBe("requeued");
  await held.begun(2); // on the same worker, so a worker id would not be a fence
  held.bodies[1]?.finish.open();
  expect(await handle.value({ timeoutMs: 30_000 })).toBe("x done");
  const before = await everyRow(handle.id);

  held.bodies[0]?.finish.open();
  await expect
    .poll(() => logger.lines.filter(({ message }) => message.includes("dropping its late result")))
    .toMatchObject([
      { level: "warn", fields: { task: handle.id, claimId: held.bodies[0]?.ctx.claimId } },
    ]);
  expect(await everyRow(handle.id)).toEqual(before);
  expect(held.bodies.map(({ ctx }) => ctx.attempt)).toEqual([1, 2]);
  expect(await (await app.send(fine, "next")).value({ timeoutMs: 30_000 })).toBe("next");
});

test("a late end does not change the current attempt of its task", async () => {
  const held = heldTask();
  const logger = recordingLogger();
  const app = db.app({ tasks: [held.task], logger });
  await app.worker({ concurrency: 2 }).start();
  const handle = await app.send(held.task, "x");
  await held.begun(1);
  await operator("requeue($1)", handle.id);
  await held.begun(2);
  held.bodies[0]?.finish.open();
  await expect
    .poll(() => logger.lines.some(({ message }) => message.includes("dropping its late result")))
    .toBe(true);
  expect(await handle.info()).toMatchObject({
    status: "RUNNING",
    attempts: [
      { attempt: 1, outcome: "INTERRUPTED" },
      { attempt: 2, outcome: "RUNNING" },
    ],
  });
  held.finishAll();
  await handle.value({ timeoutMs: 30_000 });
});

test("the signal of a handler aborts with CLAIM_LOST at the first heartbeat after its claim is lost", async () => {
  const held = heldTask();
  const logger = recordingLogger();
  const app = db.app({ tasks: [held.task], logger, recovery: soon });
  await app.worker({ concurrency: 1 }).start();
  const handle = await app.send(held.task, "x");
  await held.begun(1);
  const { signal } = held.bodies[0]?.ctx ?? {};
  expect(await operator("fail($1, 'STOPPED_BY_HAND')", handle.id)).toBe("failed");
  await expect.poll(() => signal?.aborted).toBe(true);
  expect(signal?.reason).toBeInstanceOf(TaskAborted);
  expect(signal?.reason).toMatchObject({ reason: "CLAIM_LOST" });
  expect(logger.lines.map(({ message }) => message)).toContain(
    "claim lost, the task was taken from this worker; aborting its handler",
  );
});

test("the worker logs a lost claim once, however long its handler continues", async () => {
  const held = heldTask();
  const logger = recordingLogger();
  const app = db.app({ tasks: [held.task, fine], logger, recovery: soon });
  await app.worker({ concurrency: 2 }).start();
  const handle = await app.send(held.task, "x");
  const other = await app.send(held.task, "y");
  await held.begun(2);
  await operator("fail($1, 'STOPPED_BY_HAND')", handle.id);
  const beats = async () => {
    const [row] = await db.sql<{ at: Date }>(
      "select heartbeat_at as at from posthaste.active_tasks where task_id = $1",
      [other.id],
    );
    return Number(row?.at);
  };
  const seen = new Set<number>();
  await expect.poll(async () => seen.add(await beats()).size).toBe(4);
  const lost = logger.lines.filter(({ message }) => message.startsWith("claim lost"));
  expect(lost).toHaveLength(1);
});

test("an operator's fail() of a running task stands, whatever its handler returns", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task, fine] });
  await app.worker({ concurrency: 1 }).start();
  const handle = await app.send(held.task, "x");
  await held.begun(1);
  const waiting = handle.result({ timeoutMs: 30_000 });
  expect(await operator("fail($1, 'STOPPED_BY_HAND', 'it was wrong')", handle.id)).toBe("failed");
  expect(await waiting).toEqual({
    ok: false,
    error: { code: "STOPPED_BY_HAND", message: "it was wrong" },
  });
  held.finishAll();
  expect(await (await app.send(fine, "next")).value({ timeoutMs: 30_000 })).toBe("next");
  expect(await handle.info()).toMatchObject({ status: "FAILED", errorCode: "STOPPED_BY_HAND" });
});

test("an operator's cancel() of a running task ends it CANCELLED when its handler ends", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task] });
  await app.worker().start();
  const handle = await app.send(held.task, "x");
  await held.begun(1);
  expect(await operator("cancel($1)", handle.id)).toBe("requested");
  held.finishAll();
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "TASK_CANCELLED" },
  });
});

test("a task requeued by hand after its cancellation was requested is CANCELLED, and its handler's end is dropped", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task, fine] });
  await app.worker({ concurrency: 1 }).start();
  const handle = await app.send(held.task, "x");
  await held.begun(1);
  await handle.cancel();
  expect(await operator("requeue($1)", handle.id)).toBe("cancelled");
  held.finishAll();
  expect(await (await app.send(fine, "next")).value({ timeoutMs: 30_000 })).toBe("next");
  expect(await handle.info()).toMatchObject({
    status: "CANCELLED",
    attempts: [{ attempt: 1, outcome: "CANCELLED" }],
  });
});

test("heartbeats renew the lease of a claimed task and update heartbeat_at of a running task", async () => {
  const held = heldTask();
  const app = db.app({
    tasks: [held.task],
    recovery: soon,
    claimLeaseMs: 5_000,
    prefetchBuffer: 1,
  });
  await app.worker({ concurrency: 1 }).start();
  await app.sendMany(held.task, ["a", "b"]);
  await held.begun(1);
  const beaten = () =>
    db.sql<{ status: string; hasLongerLease: boolean | null; beats: boolean | null }>(
      `select status, claim_expires_at - claimed_at > interval '5500 ms' as "hasLongerLease",
              heartbeat_at - claimed_at > interval '500 ms' as beats
         from posthaste.tasks order by status`,
    );
  await expect.poll(async () => (await beaten()).length).toBe(2);
  await expect.poll(beaten).toEqual([
    { status: "CLAIMED", hasLongerLease: true, beats: true },
    { status: "RUNNING", hasLongerLease: null, beats: true },
  ]);
  const [worker] = await db.sql(
    "select last_heartbeat_at > started_at as beats from posthaste.workers",
  );
  expect(worker).toEqual({ beats: true });
});
