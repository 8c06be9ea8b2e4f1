/**
 * A process of a rolling deployment. It migrates if it may and its code is newer, starts a worker, and calls the library's functions:
 * once, or (`CALLS=throughout`) until it is told to end. Its lines are JSON: `{"ready":true}`, then, at its end, what it counted.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, defineWorkflow, posthaste, type AppConfig } from "posthaste";

const {
  CALLS: calls = "once",
  DATABASE_URL: database = "",
  MIGRATOR_URL: migratorUrl,
  PRODUCER_URL: producerUrl,
  SCHEMA: schema = "",
} = process.env;

/** Between calls, so that processes get to start. */
const PAUSE_MS = 10;

const list = defineTask({ name: "list", run: (): number[] => [1, 2, 3] });
const double = defineTask({ name: "double", run: (n: number): number => 2 * n });
const doubles = defineWorkflow({
  name: "doubles",
  build: (flow) => {
    const listed = flow.node("listed", list);
    return flow.each("doubled", double, listed.output, (n) => n).output;
  },
});

const failures: string[] = [];
let called = 0;

const fails = (fields: object, message: string): void =>
  void failures.push(`${message} ${JSON.stringify(fields)}`);
const ignored = (): void => undefined;
const config: AppConfig = {
  schema,
  tasks: [list, double],
  workflows: [doubles],
  logger: { debug: ignored, info: ignored, warn: fails, error: fails },
  autoMigrate: migratorUrl === undefined,
};

async function call(name: string, expected: unknown, ask: () => Promise<unknown>): Promise<void> {
  called++;
  try {
    const found = JSON.stringify(await ask());
    if (found !== JSON.stringify(expected)) failures.push(`${name} answered ${found}`);
  } catch (error) {
    failures.push(`${name}: ${String(error)}`);
  }
}

async function callAll(): Promise<void> {
  await call("workflow", [2, 4, 6], async () =>
    (await producer.start(doubles, undefined)).value({ timeoutMs: 60_000 }),
  );
  await call("task", 42, async () =>
    (await producer.send(double, 21)).value({ timeoutMs: 60_000 }),
  );
  await call("cancellation", "cancelled", async () =>
    (await producer.send(double, 1, { delayMs: 3_600_000 })).cancel(),
  );
}

const toldToEnd = new AbortController();
process.once("SIGTERM", () => toldToEnd.abort());

if (migratorUrl !== undefined) {
  await using migrator = posthaste({ ...config, database: migratorUrl });
  await migrator.migrate();
}
const app = posthaste({ ...config, database });
const producer = producerUrl === undefined ? app : posthaste({ ...config, database: producerUrl });
await app.worker({ concurrency: 4 }).start();
await callAll();
console.log(JSON.stringify({ ready: true }));

while (!toldToEnd.signal.aborted) {
  await sleep(PAUSE_MS);
  if (calls === "throughout") await callAll();
}
await producer.close();
await app.close();
console.log(JSON.stringify({ called, failures }));
