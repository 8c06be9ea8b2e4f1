/** The app object: what `posthaste()` returns, and the place where everything is put together. */
import { availableParallelism } from "node:os";
import { ResultWaits } from "../client/result-waits.ts";
import { Sender, type SendOptions } from "../client/sender.ts";
import { taskHandle, type TaskHandle } from "../client/task-handle.ts";
import type { AnyContract, InputOf, SendArguments } from "../define/task.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import { readWorkerOptions, type WorkerOptions } from "../domain/worker-options.ts";
import { Database } from "../engine/database.ts";
import { isUuid } from "../engine/uuid-v7.ts";
import { startReaper } from "../reaper/reaper.ts";
import { jsonLogger } from "../runtime/json-logger.ts";
import { Listener } from "../runtime/listener.ts";
import { onStopSignals } from "../runtime/stop-signals.ts";
import { version } from "../version.ts";
import { taskRegistry } from "../worker/task-registry.ts";
import { Worker } from "../worker/worker.ts";
import { checkApp } from "./check-app.ts";
import { DatabaseLocation } from "./locate-database.ts";
import { readAppConfig, type AppConfig } from "./read-app-config.ts";
import { readItems, type SendManyItem } from "./send-many-items.ts";

export interface Posthaste extends AsyncDisposable {
  /**
   * Sends a task. Resolves after its commit, so what resolved is never lost.
   *
   *     const handle = await app.send(addNumbers, { a: 2, b: 3 });
   */
  send<T extends AnyContract>(
    task: T,
    ...args: SendArguments<T, SendOptions>
  ): Promise<TaskHandle<T>>;
  /** Sends many tasks, all or none. Items are inputs, or `{ input, …options }`; `options` hold for every item. */
  sendMany<T extends AnyContract>(
    task: T,
    items: readonly SendManyItem<InputOf<T>>[],
    options?: SendOptions,
  ): Promise<TaskHandle<T>[]>;
  /** The handle of a task that was sent earlier, perhaps by another process. */
  task<T extends AnyContract>(task: T, id: string): TaskHandle<T>;
  /** A worker for this app's tasks; `await worker.start()` begins. */
  worker(options?: WorkerOptions): Worker;
  /** Runs a worker until SIGTERM or SIGINT, and returns when it has stopped. A second signal hurries. */
  runWorker(options?: WorkerOptions): Promise<void>;
  /** What is wrong with the app, as far as can be seen without running it; `live` asks the database too. */
  check(options?: { readonly live?: boolean }): Promise<readonly Problem[]>;
  /** Applies missing migrations, or with `autoMigrate: false` only verifies that there are none. */
  ensureSchema(): Promise<void>;
  /** Applies missing migrations and returns their names. */
  migrate(): Promise<readonly string[]>;
  /** Where the database is, password included. Known after the first use, else undefined. */
  readonly databaseUrl: string | undefined;
  /** Stops the app's workers, lets sends that are under way end, and closes every connection. */
  close(): Promise<void>;
}

/**
 * Makes an app. Opens no connection: the first send, wait or worker does.
 *
 *     export const app = posthaste({ tasks: [addNumbers] });
 */
export function posthaste(given: AppConfig = {}): Posthaste {
  const parts = assemble(given);
  const { database, waits, sender, tasks, contracts } = parts;
  let closing: Promise<void> | undefined;

  const app: Posthaste & { readonly [appBrand]: readonly string[] } = {
    [appBrand]: tasks.map(({ name }) => name),
    async send(task, ...[input, options]) {
      return taskHandle(database, waits, await sender.send(task, input, options));
    },
    async sendMany(task, items, { tx, ...shared } = {}) {
      const ids = await sender.sendMany(task, readItems(task, items, shared), tx);
      return ids.map((id) => taskHandle(database, waits, id));
    },
    task: (_task, id) => taskHandle(database, waits, requireUuid(id)),
    worker: (options) => makeWorker(parts, options),
    runWorker: (options) => runUntilSignal(makeWorker(parts, options)),
    check: ({ live = false } = {}) => checkApp({ tasks, contracts, database, live }),
    ensureSchema: () => database.ensureSchema(),
    migrate: () => database.migrate(),
    get databaseUrl() {
      return parts.location.url;
    },
    close: () => (closing ??= closeAll(parts)),
    [Symbol.asyncDispose]: () => app.close(),
  };
  // Not enumerable: an app that is logged or made JSON must not take the password with it.
  return Object.defineProperty(app, "databaseUrl", { enumerable: false });
}

/** Registered, not local: an app stays an app when two copies of this package are loaded. */
const appBrand: unique symbol = Symbol.for("posthaste.app");

/** The names of the tasks of an app, or undefined if the value is no app. */
export function appTaskNames(value: unknown): readonly string[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return Reflect.get(value, appBrand) as readonly string[] | undefined;
}

type Parts = ReturnType<typeof assemble>;

function assemble(given: AppConfig) {
  const { config, tasks, contracts } = readAppConfig(given, process.env);
  const log = given.logger ?? jsonLogger("info");
  const location = new DatabaseLocation(config, log);
  const { schema, autoMigrate } = config;
  const database = new Database({ locate: location.locate, schema, autoMigrate, log });
  const listener = new Listener(
    () => database.openSession(),
    (error) =>
      log.warn(
        { error: String(error) },
        "the listener lost its connection; polling until it is back",
      ),
  );
  const pollEveryMs = config.resilience.notifyPollIntervalMs;
  const waits = new ResultWaits({ database, listener, pollEveryMs, log });
  const sender = new Sender(database, config, log);
  const workers = new Set<Worker>();
  return { config, tasks, contracts, log, location, database, listener, waits, sender, workers };
}

function makeWorker(
  { config, tasks, log, database, listener, workers }: Parts,
  options?: WorkerOptions,
): Worker {
  const { plan, problems } = readWorkerOptions(options, config, availableParallelism());
  if (problems.length > 0) {
    throw PosthasteError.of("CONFIG_INVALID", "the worker's options are not valid", problems);
  }
  const worker = new Worker({
    database,
    config,
    plan,
    registry: taskRegistry(tasks),
    listener,
    version,
    log,
    startMaintenance: () =>
      startReaper({ database, everyMs: config.recovery.checkIntervalMs, log }),
    onStopped: () => workers.delete(worker),
  });
  workers.add(worker);
  return worker;
}

async function runUntilSignal(worker: Worker): Promise<void> {
  const unhook = onStopSignals(
    () => void worker.stop(),
    () => worker.hurry(),
  );
  try {
    await worker.start();
    await worker.stopped();
  } finally {
    unhook();
    await worker.stop();
  }
}

/** In the order in which they need each other: workers write their last results before the connections go. */
async function closeAll({
  workers,
  sender,
  waits,
  listener,
  database,
  location,
}: Parts): Promise<void> {
  await Promise.all([...workers].map((worker) => worker.stop()));
  await sender.close();
  await Promise.all([waits.close(), listener.close()]);
  await database.close();
  await location.release();
}

function requireUuid(given: string): string {
  const id = String(given).toLowerCase(); // as `send` takes it
  if (isUuid(id)) return id;
  throw PosthasteError.of("VALIDATION_FAILED", "there is no such task", [
    { path: "id", message: `expected a UUID, found ${JSON.stringify(String(given).slice(0, 80))}` },
  ]);
}
