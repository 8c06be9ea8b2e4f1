/** send() warns of a queue that no live worker serves, and check({ live: true }) reports it. */
import { describe, expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { addWorker } from "../recovery/recovery-kit.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";

const db = useDatabase();
useCleanTables(db);
const greet = defineTask({ name: "greet", run: () => null });
const mail = defineTask({ name: "mail", queue: "mail", run: () => null });

const WARNING = "no live worker serves the queue of this task; the task waits until one starts";

test("send() stores a task of a queue without a worker, and warns once per queue", async () => {
  const logger = recordingLogger();
  const app = db.app({ tasks: [greet], logger });
  await app.worker().start();
  const warnings = () => logger.lines.filter(({ message }) => message === WARNING);
  await app.send(greet);
  const { id } = await app.send(greet, undefined, { queue: "nope" });
  await app.sendMany(greet, [undefined, undefined], { queue: "many" });
  await waitUntil("warnings of both queues", () => warnings().length === 2);
  await app.send(greet, undefined, { queue: "nope" });
  expect(warnings()).toMatchObject([
    { level: "warn", fields: { queue: "nope", name: "greet", task: id } },
    { level: "warn", fields: { queue: "many", name: "greet" } },
  ]);
});

describe("check({ live: true })", () => {
  const WHAT_TO_DO = "start a worker that lists it in its queues";
  const check = (tasks = [greet, mail]) => db.app({ tasks }).check({ live: true });

  test("finds nothing before the first worker runs", async () => {
    expect(await check()).toEqual([]);
  });

  test("names queues in which tasks wait and those of definitions, once workers run", async () => {
    await addWorker(db, { queues: ["default", "served"] });
    await addWorker(db, { queues: ["lost"], silentMs: 120_000 });
    await addWorker(db, { queues: ["stopped"], state: "stopped" });
    for (const queue of ["served", "lost", "stopped", "lost", "default"])
      await db.sql("select posthaste.send('greet', queue => $1)", [queue]);
    expect(await check()).toEqual([
      {
        path: "queues",
        message: `no live worker serves "lost", and tasks wait in it; ${WHAT_TO_DO}`,
      },
      {
        path: "queues",
        message: `no live worker serves "mail", which a definition names; ${WHAT_TO_DO}`,
      },
      {
        path: "queues",
        message: `no live worker serves "stopped", and tasks wait in it; ${WHAT_TO_DO}`,
      },
    ]);
  });

  test("names queues in which tasks wait if no worker runs", async () => {
    await db.sql("select posthaste.send('greet')");
    expect(await check()).toMatchObject([{ path: "queues" }]);
  });
});
