import pg from "pg";
import { expect, test } from "vitest";
import { defineTask, fail, fixed, type Posthaste, type TaskHandle } from "../../src/index.ts";
import { queueChannel } from "../../src/store/channels.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { SOON_MS } from "../support/soon.ts";

const db = useDatabase();
useCleanTables(db);

const note = defineTask({ name: "note", run: (text: string) => text });
/** A worker has to notice and claim each task: no task starts with its send, and the next poll is a minute away. */
const seldom = { directStart: false, resilience: { notifyPollIntervalMs: 60_000 } };

/** How long each task waited beyond its time, by the database's clock; the median, because this machine has other work. */
async function medianWait(handles: readonly TaskHandle[]): Promise<number> {
  const waits: number[] = [];
  for (const handle of handles) {
    await handle.result({ timeoutMs: 30_000 });
    const { startedAt, enqueuedAt } = await handle.info();
    waits.push(Number(startedAt) - Number(enqueuedAt));
  }
  return waits.sort((a, b) => a - b)[Math.floor(waits.length / 2)] ?? Infinity;
}

async function warmUp(app: Posthaste): Promise<void> {
  await (await app.send(note, "warm")).value({ timeoutMs: 30_000 });
}

test("a task delayed by 300 ms starts at its time, not with the next poll", async () => {
  const app = db.app({ tasks: [note], ...seldom });
  await app.worker({ concurrency: 20 }).start();
  await warmUp(app);
  const handles: TaskHandle[] = [];
  for (let n = 0; n < 10; n++) {
    handles.push(await app.send(note, "later", { delayMs: 300 + 20 * n }));
  }
  expect(await medianWait(handles)).toBeLessThan(SOON_MS);
});

test("a task sent before the worker started begins at its time, not with the next poll", async () => {
  const app = db.app({ tasks: [note], ...seldom });
  const handles = await Promise.all(
    Array.from({ length: 10 }, (_, n) => app.send(note, "later", { delayMs: 500 + 20 * n })),
  );
  await app.worker({ concurrency: 20 }).start();
  expect(await medianWait(handles)).toBeLessThan(SOON_MS);
});

test("a retry begins at its time, not with the next poll", async () => {
  const flaky = defineTask({
    name: "flaky",
    errors: ["BUSY"],
    retry: fixed({ intervalsMs: [200], retryFor: ["BUSY"] }),
    run: (_: number, ctx) => (ctx.attempt === 1 ? fail("BUSY") : null),
  });
  const app = db.app({ tasks: [flaky, note], ...seldom });
  await app.worker({ concurrency: 20 }).start();
  await warmUp(app);
  const handles = await Promise.all(Array.from({ length: 10 }, (_, n) => app.send(flaky, n)));
  expect(await medianWait(handles)).toBeLessThan(SOON_MS);
});

test("a task sent to an idle worker starts at once, not with the next poll", async () => {
  const app = db.app({ tasks: [note], ...seldom });
  await app.worker().start();
  await warmUp(app);
  const handles: TaskHandle[] = [];
  for (let n = 0; n < 10; n++) {
    const handle = await app.send(note, "now");
    await handle.value({ timeoutMs: 30_000 });
    handles.push(handle);
  }
  expect(await medianWait(handles)).toBeLessThan(SOON_MS);
});

test("a task with a priority that the worker has never seen starts at once", async () => {
  const app = db.app({ tasks: [note], ...seldom });
  await app.worker().start();
  await warmUp(app);
  const handles: TaskHandle[] = [];
  for (const priority of [42, 1, 99]) {
    const handle = await app.send(note, "new lane", { priority });
    await handle.value({ timeoutMs: 30_000 });
    handles.push(handle);
  }
  expect(await medianWait(handles)).toBeLessThan(SOON_MS);
});

test("a task of a queue that has always been empty starts at once", async () => {
  const app = db.app({ tasks: [note], ...seldom });
  await app.worker({ queues: ["default", "quiet", "quieter", "quietest"] }).start();
  await warmUp(app);
  const handles: TaskHandle[] = [];
  for (const queue of ["quieter", "quietest", "quiet"]) {
    const handle = await app.send(note, "new lane", { queue });
    await handle.value({ timeoutMs: 30_000 });
    handles.push(handle);
  }
  expect(await medianWait(handles)).toBeLessThan(SOON_MS);
});

test("the poll finds a task whose notification is lost", async () => {
  const app = db.app({ tasks: [note], resilience: { notifyPollIntervalMs: 1_000 } });
  await app.worker().start();
  await warmUp(app);
  // The inserts of posthaste.send() without its pg_notify, with a priority that no claim looks at.
  const [row] = await db.sql<{ id: string }>(
    `with sent as (
       insert into posthaste.submissions (task_id, name, queue, priority, input, sent_at)
       values (gen_random_uuid(), 'note', 'default', 33, '"silent"', now()) returning *
     )
     insert into posthaste.ready_tasks (task_id, queue, priority, enqueued_at)
     select task_id, queue, priority, sent_at from sent returning task_id as id`,
  );
  expect(await app.task(note, row?.id ?? "").value({ timeoutMs: 30_000 })).toBe("silent");
});

test("a task sent by posthaste.send() in SQL runs at once", async () => {
  const app = db.app({ tasks: [note], ...seldom });
  await app.worker().start();
  await warmUp(app);
  const [row] = await db.sql<{ id: string }>(
    `select posthaste.send('note', '"from SQL"', priority => 5) as id`,
  );
  const handle = app.task(note, row?.id ?? "");
  expect(await handle.value({ timeoutMs: 30_000 })).toBe("from SQL");
  expect(await medianWait([handle])).toBeLessThan(SOON_MS);
});

test("a task sent by SQL with a run_at starts at that time", async () => {
  const app = db.app({ tasks: [note], ...seldom });
  await app.worker().start();
  await warmUp(app);
  const handles: TaskHandle[] = [];
  for (let n = 0; n < 5; n++) {
    const [row] = await db.sql<{ id: string }>(
      `select posthaste.send('note', '"later"', run_at => clock_timestamp() + interval '250 ms') as id`,
    );
    handles.push(app.task(note, row?.id ?? ""));
  }
  expect(await medianWait(handles)).toBeLessThan(SOON_MS);
});

test("the worker finds a task that is committed late, behind its low-water mark", async () => {
  const app = db.app({ tasks: [note], ...seldom });
  await app.worker().start();
  await warmUp(app);
  const client = new pg.Client(db.url);
  await client.connect();
  try {
    await client.query("begin");
    const late = await app.send(note, "late", { tx: client });
    // For a second the worker gets newer tasks of the same lane, and its mark moves on.
    for (const end = performance.now() + 1_200; performance.now() < end;) {
      await (await app.send(note, "newer")).value({ timeoutMs: 30_000 });
    }
    const committedAt = performance.now();
    await client.query("commit");
    expect(await late.value({ timeoutMs: 30_000 })).toBe("late");
    expect(performance.now() - committedAt).toBeLessThan(SOON_MS);
  } finally {
    await client.end();
  }
});

test("foreign notifications on a queue's channel do not disturb the worker", async () => {
  const app = db.app({ tasks: [note], ...seldom });
  await app.worker().start();
  await warmUp(app);
  for (const payload of [
    "",
    "hello",
    "1:99999999999999999999",
    "7:0",
    "-1:0",
    "100:back",
    "x:y,",
  ]) {
    await db.sql("select pg_notify($1, $2)", [queueChannel("posthaste", "default"), payload]);
  }
  expect(await (await app.send(note, "still here")).value({ timeoutMs: 30_000 })).toBe(
    "still here",
  );
});
