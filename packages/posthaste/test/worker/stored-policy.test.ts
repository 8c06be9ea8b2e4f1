import { expect, test } from "vitest";
import { defineTask, fail, fixed } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);

const define = (retries: number) =>
  defineTask({
    name: "busy",
    errors: ["BUSY"],
    ...(retries === 0
      ? {}
      : {
          retry: fixed({
            intervalsMs: Array.from({ length: retries }, () => 0),
            retryFor: ["BUSY"],
          }),
        }),
    run: () => fail("BUSY"),
  });

async function sendBySql(options: string | null): Promise<string> {
  const [row] = await db.sql<{ id: string }>(
    "select posthaste.send('busy', options => $1::jsonb) as id",
    [options],
  );
  return row?.id ?? "";
}

test("the retry policy of the sent task overrides the worker's definition, which may be newer", async () => {
  const sender = db.app();
  const runner = db.app({ tasks: [define(5)] });
  const handle = await sender.send(define(2));
  await runner.worker().start();
  await handle.result({ timeoutMs: 30_000 });
  expect((await handle.info()).attempts).toHaveLength(3);
});

test("a task sent by SQL without options uses the worker's retry policy", async () => {
  const app = db.app({ tasks: [define(2)] });
  await app.worker().start();
  const handle = app.task(define(0), await sendBySql(null));
  await handle.result({ timeoutMs: 30_000 });
  expect((await handle.info()).attempts).toHaveLength(3);
});

test("a task sent by SQL may have its own retry policy", async () => {
  const app = db.app({ tasks: [define(0)] });
  await app.worker().start();
  const retry = { kind: "fixed", intervalsMs: [0], retryFor: "any" };
  const handle = app.task(define(0), await sendBySql(JSON.stringify({ retry })));
  await handle.result({ timeoutMs: 30_000 });
  expect((await handle.info()).attempts).toHaveLength(2);
});

test.each(["null", "5", '"x"', "[]", '{"retry": {"kind": "sometimes"}}', '{"retry": null}'])(
  "a task with the invalid options %s fails with its own error and does not harm the worker",
  async (options) => {
    const app = db.app({ tasks: [define(2)] });
    await app.worker().start();
    const handle = app.task(define(0), await sendBySql(options));
    expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({ error: { code: "BUSY" } });
    expect((await handle.info()).attempts).toHaveLength(1);
    const next = await app.send(define(1));
    expect(await next.result({ timeoutMs: 30_000 })).toMatchObject({ error: { code: "BUSY" } });
  },
);
