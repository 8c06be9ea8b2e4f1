import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { defineTask, fixed, type AppConfig, type Posthaste } from "../../src/index.ts";
import { queueChannel } from "../../src/store/channels.ts";
import { sql, statement } from "../../src/store/sql.ts";
import { BEGIN, COMMIT } from "../../src/store/transaction.ts";
import { untilWaiting } from "../locks/until-waiting.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { HeardMessages } from "./heard-messages.ts";
import { msFromNow, newQueue, placesOf } from "./task-rows.ts";

const db = useDatabase();
useCleanTables(db);

/** `posthaste.send(…)` with these arguments; returns the id. */
async function send(args: string, values: unknown[] = []): Promise<string> {
  const [row] = await db.sql<{ id: string }>(`select posthaste.send(${args}) as id`, values);
  return row?.id ?? "";
}

async function submission(id: string): Promise<Record<string, unknown> | undefined> {
  const [row] = await db.sql("select * from posthaste.submissions where task_id = $1", [id]);
  return row;
}

describe("send in SQL", () => {
  test("takes defaults for a name alone: no input, the default queue, the last priority, now", async () => {
    const id = await send("'greet'");

    expect(await submission(id)).toMatchObject({
      name: "greet",
      queue: "default",
      priority: 100,
      input: null,
      options: null,
      flags: null,
      key: null,
      good_until: null,
      run_at: null,
    });
    const { ready } = await placesOf(db, id);
    expect(ready).toMatchObject({ attempt_no: null, retry_count: null, crash_count: null });
    expect(Math.abs(msFromNow(ready?.["enqueued_at"]))).toBeLessThan(10_000);
  });

  test("stores every argument", async () => {
    const id = await send(
      `'greet', '{"a": 1}', 'mail', 7, run_at => '2090-01-01T00:00:00Z', good_until => '2091-01-01T00:00:00Z',
     key => 'k', options => '{"retry": null}', flags => '{"urgent": true}'`,
    );

    expect(await submission(id)).toMatchObject({
      queue: "mail",
      priority: 7,
      input: { a: 1 },
      key: "k",
      options: { retry: null },
      flags: { urgent: true },
      run_at: new Date("2090-01-01T00:00:00Z"),
    });
    const { ready } = await placesOf(db, id);
    expect(Date.parse(String(ready?.["enqueued_at"]))).toBe(Date.UTC(2090, 0, 1));
    expect(Date.parse(String(ready?.["good_until"]))).toBe(Date.UTC(2091, 0, 1));
  });

  test("makes ids of version 7 in the order of time", async () => {
    const rows = await db.sql<{ before: Date; id: string; after: Date }>(
      `select clock_timestamp() as before, posthaste.uuid_v7() as id, clock_timestamp() as after
         from generate_series(1, 500)`,
    );

    for (const { before, id, after } of rows) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      const ms = Number.parseInt(id.replace("-", "").slice(0, 12), 16);
      expect(ms).toBeGreaterThanOrEqual(before.getTime());
      expect(ms).toBeLessThanOrEqual(after.getTime());
    }
    expect(new Set(rows.map(({ id }) => id)).size).toBe(500);
  });

  test("turns a past time into now", async () => {
    const id = await send("'greet', run_at => '2020-01-01'");

    expect(await submission(id)).toMatchObject({ run_at: null });
    const { ready } = await placesOf(db, id);
    expect(Math.abs(msFromNow(ready?.["enqueued_at"]))).toBeLessThan(10_000);
  });

  test("turns an SQL null input into JSON null", async () => {
    const id = await send("'greet', null");

    const rows = await db.sql(
      "select input::text as input from posthaste.submissions where task_id = $1",
      [id],
    );
    expect(rows).toEqual([{ input: "null" }]);
  });

  test("returns the same task for the same name and key, and another for another name", async () => {
    const key = randomUUID();

    const first = await send("'greet', '1', key => $1", [key]);

    expect(await send("'greet', '2', key => $1", [key])).toBe(first);
    expect(await send("'other', '1', key => $1", [key])).not.toBe(first);
    expect(await submission(first)).toMatchObject({ input: 1 });
  });

  test("waits for an uncommitted key, and then finds its task", async () => {
    const SEND = statement(sql`select posthaste.send('greet', key => $1) as "id"`);
    const key = randomUUID();
    const [first, second] = [await db.connect("reads"), await db.connect("reads")];

    await first.query(BEGIN);
    const sent = await first.query(SEND, [key]);
    const found = second.query(SEND, [key]);
    await untilWaiting(db, 1);
    await first.query(COMMIT);

    expect(await found).toEqual(sent);
  });

  test.each([
    ["no name", "null", /a task name has 1 to 255 characters, got 0/],
    ["an empty name", "''", /a task name has 1 to 255 characters, got 0/],
    ["a long name", "repeat('n', 256)", /got 256/],
    ["an empty queue", "'greet', queue => ''", /'' is not a queue name/],
    ["a queue with a space", "'greet', queue => 'a b'", /'a b' is not a queue name/],
    ["a long queue", "'greet', queue => repeat('q', 101)", /is not a queue name/],
    ["priority 0", "'greet', priority => 0", /from 1 \(first\) to 100, got 0/],
    ["priority 101", "'greet', priority => 101", /from 1 \(first\) to 100, got 101/],
  ])("refuses %s", async (_, args, message) => {
    await expect(send(args)).rejects.toMatchObject({
      code: "23514",
      message: expect.stringMatching(message),
    });
  });

  test("wakes the queue's workers with the priority and the ms until due", async () => {
    const queue = newQueue();
    const listener = await HeardMessages.listen(
      await db.connect("reads"),
      queueChannel("posthaste", queue),
    );

    await send("'greet', queue => $1, priority => 7", [queue]);
    await send("'greet', queue => $1, run_at => clock_timestamp() + interval '1 hour'", [queue]);
    await send("'greet', queue => $1, run_at => '2020-01-01'", [queue]);

    const [now, later, past] = await listener.everything();
    expect([now, past]).toEqual(["7:0", "100:0"]);
    const [priority, ms] = (later ?? "").split(":").map(Number);
    expect(priority).toBe(100);
    expect(ms).toBeGreaterThan(3_590_000);
    expect(ms).toBeLessThanOrEqual(3_600_000);
  });

  test("wakes no worker when the key is taken", async () => {
    const queue = newQueue();
    await send("'greet', queue => $1, key => $1", [queue]);
    const listener = await HeardMessages.listen(
      await db.connect("reads"),
      queueChannel("posthaste", queue),
    );

    await send("'greet', queue => $1, key => $1", [queue]);

    expect(await listener.everything()).toEqual([]);
  });

  test("sends nothing and wakes no worker in a rolled-back transaction", async () => {
    const queue = newQueue();
    const listener = await HeardMessages.listen(
      await db.connect("reads"),
      queueChannel("posthaste", queue),
    );

    await db.sql("begin");
    const id = await send("'greet', queue => $1", [queue]);
    await db.sql("rollback");

    expect(await listener.everything()).toEqual([]);
    expect(await submission(id)).toBeUndefined();
  });

  describe("with a definition that a worker has registered", () => {
    const retry = fixed({ intervalsMs: [5], retryFor: ["BUSY"] });
    const defined = {
      name: "mail",
      queue: "mail",
      errors: ["BUSY"],
      retry,
      timeoutMs: 7_000,
      onCrash: "requeue",
      maxCrashes: 2,
      flags: ["bulk", "slow"],
      run: (to: string) => to,
    } as const;
    const mail = defineTask(defined);
    const plain = defineTask({ name: "plain", run: () => null });
    const queues = { default: {}, mail: { priority: 9 }, other: { priority: 3 } };
    const columns = (row: Record<string, unknown> | undefined) => {
      const { name, queue, priority, options, flags } = row ?? {};
      return { name, queue, priority, options, flags };
    };

    async function registered(tasks: AppConfig["tasks"] = [mail, plain]): Promise<Posthaste> {
      const app = db.app({ tasks, queues });
      const worker = await app.worker().start();
      await worker.stop();
      return app;
    }

    test("stores the row that the app would have sent", async () => {
      const app = await registered();
      const byApp = [await app.send(mail, "a@b.c"), await app.send(plain)];
      const bySql = [await send(`'mail', '"a@b.c"'`), await send("'plain', queue => null")];
      for (const [nth, { id }] of byApp.entries())
        expect(columns(await submission(bySql[nth] ?? ""))).toEqual(columns(await submission(id)));
      expect(await submission(bySql[0] ?? "")).toMatchObject({
        queue: "mail",
        priority: 9,
        options: { retry: expect.anything(), timeoutMs: 7_000, onCrash: "requeue", maxCrashes: 2 },
        flags: { bulk: true, slow: true },
      });
      const { ready } = await placesOf(db, bySql[0] ?? "");
      expect(ready).toMatchObject({ queue: "mail", priority: 9 });
    });

    test("prefers every argument, and merges flags", async () => {
      await registered();
      const id = await send(
        `'mail', queue => 'other', options => '{}', flags => '{"slow": false, "new": true}'`,
      );
      expect(await submission(id)).toMatchObject({
        queue: "other",
        priority: 100, // that of its own queue does not go with it
        options: {},
        flags: { bulk: true, slow: false, new: true },
      });
      expect(await submission(await send("'mail', priority => 5"))).toMatchObject({
        queue: "mail",
        priority: 5,
      });
    });

    test("wakes the workers of the definition's queue", async () => {
      await registered();
      const listener = await HeardMessages.listen(
        await db.connect("reads"),
        queueChannel("posthaste", "mail"),
      );
      await send("'mail'");
      expect(await listener.everything()).toEqual(["9:0"]);
    });

    test("uses the latest registration, which is written only if it differs", async () => {
      await registered();
      const rows = () => db.sql("select *, xmin from posthaste.task_definitions order by name");
      const before = await rows();
      await registered();
      expect(await rows()).toEqual(before);
      await registered([defineTask({ ...defined, queue: "other", priority: 4 })]);
      expect(await submission(await send("'mail'"))).toMatchObject({ queue: "other", priority: 4 });
      expect((await rows()).find(({ name }) => name === "plain")).toEqual(before[1]);
    });

    test("does not deadlock when workers register together", async () => {
      const tasks = Array.from({ length: 50 }, (_, n) =>
        defineTask({ name: `task ${n}`, run: () => null }),
      );
      const [one, two] = [await db.connect("reads"), await db.connect("reads")];
      for (let round = 1; round <= 20; round++) {
        const rows = tasks.map(({ name }) => ({
          name,
          queue: "default",
          priority: round,
          queuePriority: null,
          options: null,
          flags: null,
          keepHours: null,
        }));
        await Promise.all([
          db.store.storeDefinitions(one, rows),
          db.store.storeDefinitions(two, rows.toReversed()),
        ]);
      }
      expect(await db.sql("select distinct priority from posthaste.task_definitions")).toEqual([
        { priority: 20 },
      ]);
    });
  });
});
