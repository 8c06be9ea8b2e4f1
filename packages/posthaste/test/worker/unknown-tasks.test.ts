import { expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);

const known = defineTask({ name: "known", run: () => "done" });
const unknown = defineTask({ name: "unknown", run: () => "done" });

test("by default a task that its worker does not know fails with WORKER_RESOLUTION_ERROR", async () => {
  const app = db.app({ tasks: [known] });
  await app.worker().start();
  const handle = await app.send(unknown);
  expect(await handle.result({ timeoutMs: 5_000 })).toMatchObject({
    error: { code: "WORKER_RESOLUTION_ERROR" },
  });
});

test("with unknownTasks: release it is left for a worker that knows it, and holds nobody up", async () => {
  const app = db.app({ tasks: [known], unknownTasks: "release" });
  const waiting = await app.sendMany(
    unknown,
    Array.from({ length: 500 }, () => undefined),
  );
  await app.worker({ concurrency: 2 }).start();
  const handle = await app.send(known);
  expect(await handle.value({ timeoutMs: 5_000 })).toBe("done");
  expect((await waiting[0]?.info())?.status).toBe("PENDING");
  await db
    .app({ tasks: [unknown], unknownTasks: "release" })
    .worker()
    .start();
  for (const each of waiting) await each.value({ timeoutMs: 10_000 });
});
