/** Closing an app, and stopping a worker that has not started, while the database does not answer. */
import { expect, test } from "vitest";
import { defineTask, posthaste } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";
import { silentLogger } from "../support/loggers.ts";
import { throughSilentProxy } from "../scenarios/silent-database.ts";

const db = useDatabase();

async function timed(work: Promise<unknown>): Promise<number> {
  const begunAt = performance.now();
  await work;
  return performance.now() - begunAt;
}

test("app.close() ends the transaction of a task that the database does not answer", async () => {
  await throughSilentProxy(db.url, async (stage) => {
    const begun = gate();
    const go = gate();
    const seen = gate<unknown>();
    const work = defineTask({
      name: "work",
      run: (_: null, ctx) =>
        ctx.transaction(async (tx) => {
          await tx.query("select 1");
          begun.open();
          await go.opened;
          await tx.query("select 2").catch((error: unknown) => seen.open(error));
          return null;
        }),
    });
    const app = posthaste({ database: stage.url, tasks: [work], logger: silentLogger });
    await app.worker({ shutdownGraceMs: 0 }).start();
    await app.send(work);
    await begun.opened;
    await stage.fallSilent();
    go.open();
    expect(await timed(app.close())).toBeLessThan(10_000);
    expect(String(await seen.opened)).toContain("Connection terminated");
  });
}, 60_000);

test("stop() stops a worker that waits for a silent database to register", async () => {
  await throughSilentProxy(db.url, async (stage) => {
    const tasks = [defineTask({ name: "idle", run: () => null })];
    const app = posthaste({ database: stage.url, tasks, logger: silentLogger });
    await app.ensureSchema();
    await stage.fallSilent();
    const worker = app.worker();
    const starting = worker.start().catch((error: unknown) => error);
    expect(await timed(worker.stop())).toBeLessThan(10_000);
    expect(await starting).toMatchObject({ code: "DATABASE_UNAVAILABLE" });
    await app.close();
  });
}, 60_000);

test("app.close() waits for a database that is slow and answers", async () => {
  const app = db.app();
  const note = defineTask({ name: "note", run: (text: string) => text });
  await app.send(note, "first", { key: "k" });
  await db.sql("begin");
  await db.sql("lock table posthaste.submissions in access exclusive mode");
  const sending = app.send(note, "second", { key: "l" });
  const closing = timed(app.close());
  await new Promise((resolve) => setTimeout(resolve, 4_000)); // longer than close() waits for a silent database
  await db.sql("commit");
  expect((await sending).id).toBeTypeOf("string");
  expect(await closing).toBeGreaterThan(3_900);
});
