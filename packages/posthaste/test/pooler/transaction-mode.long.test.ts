import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import pg from "pg";
import { defineTask, fixed, posthaste, type AppConfig, type Posthaste } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";
import { recordingLogger, silentLogger } from "../support/loggers.ts";
import { startPgbouncer, type Pgbouncer } from "../support/pgbouncer.ts";

describe("behind pgbouncer in transaction mode", () => {
  const db = useDatabase();
  useCleanTables(db);
  let bouncer: Pgbouncer;
  const apps: Posthaste[] = [];

  beforeAll(async () => {
    bouncer = await startPgbouncer(inject("serverUrl"));
  });
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close();
  });
  afterAll(() => bouncer.stop());

  function pooled(config: Omit<AppConfig, "database">, hasSession: boolean): Posthaste {
    const url = bouncer.url(db.url);
    const database = hasSession ? { url, sessionUrl: db.url } : url;
    const resilience = { notifyPollIntervalMs: 1_000 };
    const app = posthaste({ logger: silentLogger, resilience, ...config, database });
    apps.push(app);
    return app;
  }

  const twice = defineTask({
    name: "twice",
    retry: fixed({ intervalsMs: [10], retryFor: "any" }),
    run: (n: number, ctx) => {
      if (ctx.attempt === 1 && n % 7 === 0) throw new Error("once more");
      return n * 2;
    },
  });

  test.each([true, false])(
    "tasks are sent in every way, run, are retried and awaited (sessionUrl: %s)",
    async (hasSession) => {
      const app = pooled(
        { tasks: [twice], queues: { default: { maxConcurrency: 5 } } },
        hasSession,
      );
      await app.worker({ concurrency: 10 }).start();
      const many = await app.sendMany(
        twice,
        Array.from({ length: 200 }, (_, n) => n),
      );
      const one = await app.send(twice, 500, { key: "k" });
      expect((await app.send(twice, 500, { key: "k" })).id).toBe(one.id);
      const values = await Promise.all(many.map((handle) => handle.value({ timeoutMs: 30_000 })));
      expect(values).toEqual(Array.from({ length: 200 }, (_, n) => n * 2));
      const info = await one.info();
      expect(Math.abs(Number(info.sentAt) - Date.now())).toBeLessThan(60_000);
    },
  );

  test("without sessionUrl the silence is said once, and a cancellation arrives by the poll", async () => {
    const began = gate();
    const waits = defineTask({
      name: "waits",
      run: async (_: null, { signal }) => {
        began.open();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return null;
      },
    });
    const logger = recordingLogger();
    const app = pooled({ tasks: [waits], logger }, false);
    await app.worker().start();
    const handle = await app.send(waits);
    await began.opened;
    await handle.cancel();
    expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
      error: { code: "TASK_CANCELLED" },
    });
    await expect
      .poll(() => logger.lines.filter(({ message }) => message.includes("do not arrive")).length)
      .toBe(1);
  });

  test("with sessionUrl notifications arrive as everywhere", async () => {
    const logger = recordingLogger();
    const app = pooled(
      { tasks: [twice], logger, resilience: { notifyPollIntervalMs: 60_000 } },
      true,
    );
    await app.worker().start();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const handle = await app.send(twice, 1);
    expect(await handle.value({ timeoutMs: 30_000 })).toBe(2);
    expect(logger.lines.map(({ message }) => message).join()).not.toContain("do not arrive");
  });

  test("nothing of ours is left behind in the sessions that others use", async () => {
    const app = pooled({ tasks: [twice] }, false);
    await app.worker().start();
    await (await app.send(twice, 1)).value({ timeoutMs: 30_000 });
    const settings = ["search_path", "enable_seqscan", "statement_timeout", "plan_cache_mode"];
    for (let n = 0; n < 20; n++) {
      const client = new pg.Client(bouncer.url(db.url));
      await client.connect();
      const { rows } = await client.query(
        "select name, setting, reset_val from pg_settings where name = any ($1) and setting <> reset_val",
        [settings],
      );
      const { rows: prepared } = await client.query("select name from pg_prepared_statements");
      await client.end();
      expect({ rows, prepared }).toEqual({ rows: [], prepared: [] });
    }
  });

  test("ctx.transaction works through the pooler", async () => {
    const task = defineTask({
      name: "tx",
      run: (_: null, ctx) =>
        ctx.transaction(async (tx) => (await tx.query<{ n: number }>("select 5 as n")).rows),
    });
    const app = pooled({ tasks: [task] }, true);
    await app.worker().start();
    expect(await (await app.send(task)).value({ timeoutMs: 30_000 })).toEqual([{ n: 5 }]);
  });
});
