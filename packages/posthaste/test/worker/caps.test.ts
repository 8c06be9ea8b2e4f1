import { expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { useHeldTasks } from "./held-task.ts";

const db = useDatabase();
useCleanTables(db);
const heldTask = useHeldTasks();

async function active(): Promise<{ claimed: number; running: number }> {
  const [row] = await db.sql<{ claimed: number; running: number }>(
    `select (count(*) filter (where started_at is null))::int as claimed,
            (count(*) filter (where started_at is not null))::int as running from posthaste.active_tasks`,
  );
  return row ?? { claimed: 0, running: 0 };
}

/** A task that counts how many of its handlers run at once, in all workers of this process. */
function counter() {
  let now = 0;
  const seen = { most: 0, done: 0 };
  const task = defineTask({
    name: "counted",
    run: async () => {
      seen.most = Math.max(seen.most, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      now--;
      seen.done++;
      return null;
    },
  });
  return { task, seen };
}

test.each([1, 3])(
  "no more than %i tasks of a capped queue run at once, over four workers",
  async (cap) => {
    const { task, seen } = counter();
    for (let n = 0; n < 4; n++) {
      const app = db.app({ tasks: [task], queues: { default: { maxConcurrency: cap } } });
      await app.worker({ concurrency: 5 }).start();
      if (n === 0)
        await app.sendMany(
          task,
          Array.from({ length: 200 }, () => undefined),
        );
    }
    await expect.poll(() => seen.done).toBe(200);
    expect(seen.most).toBe(cap);
  },
);

test("clusterWideCap counts every queue together", async () => {
  const { task, seen } = counter();
  for (let n = 0; n < 2; n++) {
    const app = db.app({ tasks: [task], clusterWideCap: 2 });
    await app.worker({ queues: ["a", "b"], concurrency: 5 }).start();
    if (n > 0) continue;
    for (const queue of ["a", "b"])
      await app.sendMany(
        task,
        Array.from({ length: 50 }, () => undefined),
        { queue },
      );
  }
  await expect.poll(() => seen.done).toBe(100);
  expect(seen.most).toBe(2);
});

test("a capped queue does not keep the others waiting", async () => {
  const held = heldTask("held", { queue: "narrow" });
  const { task, seen } = counter();
  const app = db.app({
    tasks: [held.task, task],
    queues: { narrow: { maxConcurrency: 1, priority: 1 }, default: {} },
  });
  await app.worker({ concurrency: 10 }).start();
  await app.sendMany(held.task, ["a", "b", "c"]);
  await held.begun(1);
  await app.sendMany(
    task,
    Array.from({ length: 20 }, () => undefined),
  );
  await expect.poll(() => seen.done).toBe(20);
  expect(held.inputs()).toEqual(["a"]);
});

test("a worker uses room that another worker frees under a cap, without a notification", async () => {
  const held = heldTask();
  const queues = { default: { maxConcurrency: 1 } };
  const first = db.app({ tasks: [held.task], queues });
  const [a] = await first.sendMany(held.task, ["a", "b"]);
  const worker = await first.worker({ concurrency: 1 }).start();
  await held.begun(1);
  await db
    .app({ tasks: [held.task], queues })
    .worker({ concurrency: 1 })
    .start();
  const stopping = worker.stop();
  held.finishAll();
  await stopping;
  await a?.value({ timeoutMs: 30_000 });
  await held.begun(2);
});

test("with a prefetch buffer the cap counts running tasks, and prefetched tasks of a capped queue wait for room", async () => {
  const held = heldTask();
  const app = db.app({
    tasks: [held.task],
    queues: { default: { maxConcurrency: 2 } },
    prefetchBuffer: 3,
  });
  await app.worker({ concurrency: 4 }).start();
  await app.sendMany(held.task, ["a", "b", "c", "d", "e", "f"]);
  await held.begun(2);
  await expect.poll(async () => (await active()).running).toBe(2);
  held.bodies[0]?.finish.open();
  await held.begun(3);
  expect((await active()).running).toBe(2);
  for (let n = 2; n <= 5; n++) {
    held.finishAll();
    await held.begun(Math.min(6, n + 2));
  }
  held.finishAll();
  await expect.poll(active).toEqual({ claimed: 0, running: 0 });
});

test("queueMaxConcurrency of a worker overrides maxConcurrency of the config", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task], queues: { default: { maxConcurrency: 1 } } });
  await app.worker({ concurrency: 4, queueMaxConcurrency: { default: 3 } }).start();
  await app.sendMany(held.task, ["a", "b", "c", "d"]);
  await held.begun(3);
  expect(await active()).toEqual({ claimed: 0, running: 3 });
});

test("maxClaimBatch limits the tasks of each queue in one pass, and later passes fill the slots", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task] });
  for (const queue of ["a", "b"])
    await app.sendMany(held.task, [`${queue}1`, `${queue}2`, `${queue}3`], { queue });
  await app
    .worker({ queues: ["a", "b"], concurrency: 4, maxClaimBatch: 1, queuePriorities: { a: 1 } })
    .start();
  await held.begun(4);
  expect(held.inputs().slice(0, 2)).toEqual(["a1", "b1"]);
  expect(held.inputs()).toHaveLength(4);
});

test("a worker claims from queues of one priority together, oldest task first", async () => {
  const order: string[] = [];
  const task = defineTask({
    name: "record",
    run: (input: string) => {
      order.push(input);
      return null;
    },
  });
  const app = db.app({ tasks: [task] });
  const sent = ["b", "a", "c", "a", "b", "c", "b", "a", "c"].map((queue, n) => ({ queue, n }));
  for (const { queue, n } of sent) await app.send(task, `${n}${queue}`, { queue });
  await app.worker({ queues: ["a", "b", "c"], concurrency: 1 }).start();
  await expect.poll(() => order.length).toBe(9);
  expect(order).toEqual(sent.map(({ queue, n }) => `${n}${queue}`));
});

test("a worker runs a task whose claim by another worker has expired", async () => {
  const held = heldTask();
  const app = db.app({
    tasks: [held.task],
    prefetchBuffer: 1,
    recovery: { checkIntervalMs: 1_000 },
  });
  const handle = await app.send(held.task, "left");
  await db.sql(
    `with gone as (delete from posthaste.ready_tasks returning *)
     insert into posthaste.active_tasks
       (task_id, claim_id, worker_id, claimed_at, claim_expires_at)
     select task_id, gen_random_uuid(), gen_random_uuid(), now(), now() - interval '1 ms'
       from gone`,
  );
  await app.worker().start();
  await held.begun(1);
  expect(await handle.info()).toMatchObject({ status: "RUNNING" });
});
