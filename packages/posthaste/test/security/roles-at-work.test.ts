/** Each role that `posthaste roles` prints has the grants for its work. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { defineTask, fail, fixed, type AppConfig } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";
import { recordingLogger, withoutBlockedLoop } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { useRoles } from "./roles.ts";

const db = useDatabase({ isEmpty: true });
const roles = useRoles(db);
const { schema, as } = roles;

const flaky = defineTask({
  name: "flaky",
  errors: ["BUSY"],
  retry: fixed({ intervalsMs: [20], retryFor: ["BUSY"] }),
  run: (text: string, ctx) => (ctx.attempt === 1 ? fail("BUSY") : text),
});
const broken = defineTask({
  name: "broken",
  run: (): null => {
    throw new Error("broken");
  },
});
const held = gate();
const slow = defineTask({ name: "slow", run: async () => held.opened });
const chain = defineTask({
  name: "chain",
  run: async (text: string): Promise<string> => {
    const app = roles.app("worker", { tasks });
    return (await app.send(flaky, text, { key: text })).value();
  },
});
const tasks: NonNullable<AppConfig["tasks"]> = [flaky, broken, slow, chain];

describe("the producer", () => {
  test("gets PERMISSION_DENIED, with the missing grant, from calls for operators", async () => {
    const { admin } = roles.app("producer", { tasks });
    const asked: readonly (() => Promise<unknown>)[] = [
      () => admin.workers.list(),
      () => admin.queues.pause("default"),
      () => admin.recoveries.list(),
      () => admin.sweepStaleWorkers(),
      () => admin.prune(),
      () => admin.tasks.get(randomUUID()),
    ];
    for (const ask of asked) {
      await expect(ask()).rejects.toMatchObject({
        code: "PERMISSION_DENIED",
        retryable: false,
        message: expect.stringMatching(/permission denied for .*`posthaste roles`/),
      });
    }
  });

  test("sends in every way, and finds existing tasks by key and id", async () => {
    const app = roles.app("producer", { tasks });
    const id = randomUUID();

    const sent = await app.send(flaky, "plain");
    expect(sent.id).toMatch(/-/);
    const keyed = await app.send(flaky, "keyed", { key: "k", delayMs: 1, priority: 3 });
    expect((await app.send(flaky, "keyed", { key: "k" })).id).toBe(keyed.id);
    await expect(app.send(flaky, "other", { key: "k" })).rejects.toThrow("another input");
    expect((await app.send(flaky, "own", { id })).id).toBe(id);
    expect((await app.send(flaky, "own", { id })).id).toBe(id);
    expect(await app.sendMany(flaky, ["a", { input: "b", key: "kb" }])).toHaveLength(2);
    expect(await app.sendMany(flaky, Array.from({ length: 2_500 }, String))).toHaveLength(2_500);
    expect(await app.check({ live: true })).toMatchObject([
      { path: "queues", message: expect.stringContaining("and tasks wait in it") },
    ]);
  });

  test("sends inside a transaction of its own, and by SQL", async () => {
    const app = roles.app("producer", { tasks });
    const tx = roles.client("producer");
    await tx.query("begin");
    const { id } = await app.send(flaky, "in a transaction", { tx });
    await app.sendMany(flaky, [{ input: "keyed", key: "tx" }], { tx });
    await tx.query("commit");

    const [row] = await as(
      "producer",
      `select ${schema}.send('flaky', '"by SQL"', key => 'sql') as id`,
    );
    expect(await as("reader", `select status from ${schema}.tasks where id = $1`, [id])).toEqual([
      { status: "PENDING" },
    ]);
    expect(row).toMatchObject({ id: expect.any(String) });
  });

  test("receives results by notifications of the worker, not by polling", async () => {
    await roles.app("worker", { tasks }).worker().start();
    const app = roles.app("producer", { tasks });

    const good = await app.send(flaky, "good", { priority: 1 });
    const bad = await app.send(broken, undefined, { priority: 1 });

    expect(await good.result({ timeoutMs: 30_000 })).toEqual({ ok: true, value: "good" });
    expect(await bad.result({ timeoutMs: 30_000 })).toMatchObject({
      error: { code: "UNHANDLED_ERROR" },
    });
  });

  test("cancels a waiting task, and requests the cancellation of a running task", async () => {
    const app = roles.app("producer", { tasks });
    const waits = await app.send(slow, undefined, { delayMs: 60_000 });
    const told = waits.result({ timeoutMs: 30_000 });
    expect(await waits.cancel()).toBe("cancelled");
    expect(await told).toMatchObject({ error: { code: "TASK_CANCELLED" } });
    expect(await waits.cancel()).toBe("finished");

    await roles.app("worker", { tasks }).worker().start();
    const runs = await app.send(slow, undefined, { priority: 1 });
    await waitUntil("the task to run", async () => {
      const text = `select from ${schema}.tasks where id = $1 and status = 'RUNNING'`;
      return (await as("reader", text, [runs.id])).length > 0;
    });
    expect(await runs.cancel()).toBe("requested");
    held.open();
    expect(await runs.result({ timeoutMs: 30_000 })).toMatchObject({
      error: { code: "TASK_CANCELLED" },
    });
  });
});

describe("the worker", () => {
  test("claims, prefetches, retries and expires tasks, and sends heartbeats", async () => {
    const recovery = {
      checkIntervalMs: 1_000,
      claimerHeartbeatIntervalMs: 1_000,
      runnerHeartbeatIntervalMs: 1_000,
    };
    const app = roles.app("worker", { tasks, prefetchBuffer: 5, recovery });
    const open = gate();
    const long = defineTask({ name: "long", queue: "long", run: async () => open.opened });
    const late = await app.send(flaky, "late", {
      queue: "nobody",
      goodUntil: new Date(Date.now() + 200),
    });
    const log = recordingLogger();
    const busy = roles.app("worker", { tasks: [long], logger: log, prefetchBuffer: 1, recovery });
    await busy.worker({ queues: ["long"], concurrency: 1 }).start();
    await app.worker({ concurrency: 2 }).start();

    const runs = await busy.sendMany(long, [undefined, undefined]);
    const handles = await app.sendMany(flaky, ["a", "b", "c", "d", "e", "f"], { priority: 1 });
    expect(await Promise.all(handles.map((handle) => handle.value()))).toHaveLength(6);
    expect(await late.result({ timeoutMs: 30_000 })).toMatchObject({
      error: { code: "TASK_EXPIRED" },
    });
    await waitUntil("a heartbeat", async () => {
      const text = `select from ${schema}.active_tasks join ${schema}.submissions using (task_id)
        where heartbeat_at is not null and queue = 'long'`;
      return (await as("reader", text)).length === 2;
    });
    open.open();
    expect(await Promise.all(runs.map((handle) => handle.value()))).toEqual([null, null]);
    const troubles = withoutBlockedLoop(log.lines).filter(
      ({ level }) => level === "warn" || level === "error",
    );
    expect(troubles.filter(({ message }) => !message.startsWith("tasks expired"))).toEqual([]);
  });

  test("recovers tasks of lost workers, and lists workers and recoveries", async () => {
    const app = roles.app("worker", { tasks });
    const handles = await app.sendMany(flaky, ["crashed", "silent", "stale"], { queue: "gone" });
    const owners = handles.map(() => randomUUID());
    await db.sql(
      `with gone as (delete from ${schema}.ready_tasks where queue = 'gone' returning *)
       insert into ${schema}.active_tasks
         (task_id, claim_id, worker_id, started_at)
       select task_id, gen_random_uuid(), ($2::uuid[])[array_position($1::uuid[], task_id)],
              now() - interval '1 hour'
         from gone`,
      [handles.map(({ id }) => id), owners],
    );
    await db.sql(
      `insert into ${schema}.workers
         (worker_id, name, hostname, pid, version, queues, task_names, concurrency, state, last_heartbeat_at, died_at)
       values ($1, 'w', 'h', 1, '1', '{}', '{}', 1, 'dead', now() - interval '1 hour', now() - interval '1 hour'),
              ($2, 'w', 'h', 1, '1', '{}', '{}', 1, 'running', now() - interval '1 hour', null)`,
      owners.slice(0, 2),
    );
    expect(await app.admin.workers.list({ staleAfterMs: 1_000 })).toContainEqual(
      expect.objectContaining({ id: owners[1], isStale: true }),
    );
    const options = { sweepThresholdMs: 500, config: { resilientTaskFlags: ["x"] } };
    expect(await app.admin.sweepStaleWorkers(options)).toMatchObject({ recoveredCount: 2 });
    const recovery = { checkIntervalMs: 1_000, crashGraceMs: 1_000 };
    await roles
      .app("worker", { tasks, recovery })
      .worker({ queues: ["none"] })
      .start();
    await waitUntil("the dead worker's task to be taken", async () => {
      const rows = await as(
        "reader",
        `select from ${schema}.tasks where queue = 'gone' and status = 'RUNNING'`,
      );
      return rows.length === 0;
    });
    expect((await app.admin.recoveries.list()).map(({ reason }) => reason).sort()).toEqual([
      "worker crashed",
      "worker silent",
      "worker unknown",
    ]);
  });

  test("prunes old tasks and heartbeats, and keeps recent tasks", async () => {
    const app = roles.app("worker", { tasks });
    // The first id contains an old time and the second none: pruning finds them in two ways.
    const old = ["0180a000-0000-7000-8000-000000000000", "a180a000-0000-4000-8000-000000000000"];
    for (const id of old) await (await app.send(flaky, "old", { queue: "nobody", id })).cancel();
    const young = await app.send(flaky, "young", { queue: "nobody" });
    await young.cancel();
    const ago =
      "finished_at = finished_at - interval '31 days', enqueued_at = enqueued_at - interval '31 days'";
    await db.sql(`update ${schema}.finished_tasks set ${ago} where task_id = any ($1)`, [old]);
    await db.sql(
      `insert into ${schema}.heartbeats (task_id, claim_id, sender_id, sent_at, pid, role, hostname)
       values ($1, $1, $1, now() - interval '25 hours', 1, 'runner', 'h')`,
      [young.id],
    );

    expect(await app.admin.prune({ dryRun: true })).toMatchObject({ terminalRecords: 2 });
    expect(await app.admin.prune()).toMatchObject({ heartbeats: 1, terminalRecords: 2 });
    expect(
      await as(
        "reader",
        `select task_id as id from ${schema}.submissions where task_id = any ($1)`,
        [[...old, young.id]],
      ),
    ).toEqual([{ id: young.id }]);
    for (const each of ["prune_ended_tasks", "prune_ended_tasks_of_own_id"])
      await expect(as("worker", `select ${schema}.${each}(0, null, 10)`)).rejects.toThrow(
        "what is over is kept for at least 1 hour, got 0",
      );
  });

  test("sends tasks from within tasks and waits for them", async () => {
    const app = roles.app("worker", { tasks });
    await app.worker({ concurrency: 4 }).start();
    const handle = await app.send(chain, "linked", { priority: 1 });

    expect(await handle.value({ timeoutMs: 30_000 })).toBe("linked");
  });

  test("requeues its running task when it stops", async () => {
    const app = roles.app("worker", { tasks });
    const long = defineTask({ name: "long", queue: "stop", run: () => new Promise(() => {}) });
    const stopping = roles.app("worker", { tasks: [long] });
    const running = await stopping.worker({ queues: ["stop"], shutdownGraceMs: 0 }).start();
    const { id } = await app.send(long);
    const status = async () =>
      (await as("reader", `select status from ${schema}.tasks where id = $1`, [id]))[0];
    await waitUntil("the task to run", async () => {
      const row = (await status()) as { status: string };
      return row.status === "RUNNING";
    });
    await running.stop();

    expect(await status()).toEqual({ status: "PENDING" });
  });
});

describe("the reader", () => {
  test("reads every table, and the view of all tasks", async () => {
    const tables = await db.sql<{ name: string }>(
      "select relname as name from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'v')",
      [schema],
    );
    expect(tables.length).toBeGreaterThan(7);
    for (const { name } of tables) await as("reader", `select * from ${schema}.${name} limit 1`);
    expect(await as("reader", `select from ${schema}.tasks limit 1`)).toHaveLength(1);
  });

  test("lets the producer call info() once the producer is a member of it", async () => {
    const app = roles.app("producer", { tasks });
    const handle = await app.send(flaky, "asked", { delayMs: 60_000 });
    await expect(handle.info()).rejects.toThrow("permission denied");

    await db.sql(`grant ${schema}_reader to ${schema}_producer`);
    try {
      expect(await handle.info()).toMatchObject({ id: handle.id, status: "PENDING" });
    } finally {
      await db.sql(`revoke ${schema}_reader from ${schema}_producer`);
    }
  });
});
