/** `posthaste()` makes the app object and joins its parts. */
import { availableParallelism } from "node:os";
import { makeAdmin, type Admin } from "../admin/admin.ts";
import { listConfigSettings } from "../config/settings.ts";
import {
  readSchedulerOptions,
  readWorkerOptions,
  type SchedulerOptions,
  type WorkerOptions,
  type WorkerSettings,
} from "../config/worker-options.ts";
import { Database } from "../database/database.ts";
import { despiteSilence } from "../database/despite-silence.ts";
import { definedQueues } from "../define/defined-queues.ts";
import type { SendOptions } from "../define/send-options.ts";
import type { StartArguments } from "../define/start-options.ts";
import type { WorkerContext } from "../define/task-context.ts";
import type { TaskHandle } from "../define/task-handle.ts";
import type { AnyContract, AnyTask, InputOf, SendArguments } from "../define/task.ts";
import { withNested } from "../define/workflow-rules.ts";
import type { WorkflowRun } from "../define/workflow-run.ts";
import type { AnyWorkflow } from "../define/workflow.ts";
import type { Schedule } from "../define/schedule.ts";
import { bundleProblem } from "../domain/bundled.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import { atLevel, childLogger, fromAppLogger, writesDebug, type Logger } from "../domain/logger.ts";
import { hookRunner } from "../hooks/hook-runner.ts";
import { startMaintenance } from "../recovery/maintenance.ts";
import { retentionRounds } from "../recovery/prune.ts";
import { defaultLogger } from "../runtime/default-logger.ts";
import type { OutgoingTask } from "../sending/compose-task.ts";
import { readItems, type SendManyItem } from "../sending/send-many-items.ts";
import { Scheduler } from "../scheduler/scheduler.ts";
import { storeSchedules } from "../scheduler/store-definitions.ts";
import { Sender } from "../sending/sender.ts";
import { requireUuid } from "../sending/uuid-v7.ts";
import { version } from "../version.ts";
import { awaitedRuns, awaitedTasks, ResultWaits } from "../waiting/result-waits.ts";
import { taskHandle } from "../waiting/task-handle.ts";
import { workflowRun } from "../waiting/workflow-run.ts";
import {
  taskRegistry,
  type HandlerServices,
  type SendChild,
} from "../worker/execution/attempt-services.ts";
import { ThreadPool } from "../worker/execution/threads/thread-pool.ts";
import { currentTask } from "../worker/execution/uncaught-errors.ts";
import { Worker } from "../worker/worker.ts";
import { Starter } from "../workflows/starter.ts";
import type { Targets } from "../scheduler/compose-firing.ts";
import { readActivity } from "./activity.ts";
import { appBrand, type AppFacts } from "./app-facts.ts";
import { appListener } from "./app-listener.ts";
import { callerFile } from "./caller-file.ts";
import { checkApp } from "./check-app.ts";
import { warnWhenForgotten } from "./forgotten-app.ts";
import { DatabaseLocation } from "./locate-database.ts";
import { readAppConfig, type AppConfig } from "./read-app-config.ts";
import { runUntilSignal } from "./run-until-signal.ts";
import { threadProblems, threadProgram } from "./threads/thread-program.ts";
import { onStage, threadStage } from "./threads/thread-stage.ts";
import { warnWaitingHandlers } from "./waiting-handlers.ts";

export interface Posthaste extends AsyncDisposable {
  /**
   * Sends a task. Resolves after its commit, so a task whose promise resolved is never lost.
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
  /**
   * Starts a run of a workflow. Resolves after its commit: the run and the tasks of its first nodes are there.
   *
   *     const run = await app.start(shipOrder, { orderId: "o-1" });
   */
  start<W extends AnyWorkflow>(workflow: W, ...args: StartArguments<W>): Promise<WorkflowRun<W>>;
  /** The handle of a task that was sent earlier, perhaps by another process. */
  task<T extends AnyContract>(task: T, id: string): TaskHandle<T>;
  /** The handle of a run that was started earlier, perhaps by another process. */
  workflow<W extends AnyWorkflow>(workflow: W, id: string): WorkflowRun<W>;
  /** A worker for this app's tasks; `await worker.start()` begins. */
  worker(options?: WorkerOptions): Worker;
  /**
   * Runs a worker until SIGTERM or SIGINT, and returns when it has stopped. A second signal hurries. After a signal the app is closed,
   * so that a program which ends here exits.
   */
  runWorker(options?: WorkerOptions): Promise<void>;
  /**
   * A scheduler alone: it stores and fires schedules, and runs no task. Registered as a worker without slots. Workers do the same
   * unless their option `scheduler` is false.
   */
  scheduler(options?: SchedulerOptions): Worker;
  /** Runs a scheduler alone until SIGTERM or SIGINT, as `runWorker` runs a worker. */
  runScheduler(options?: SchedulerOptions): Promise<void>;
  /** Calls for operators. */
  readonly admin: Admin;
  /**
   * The problems of the app that can be found without running it. `live` also asks the database: whether its schema is right, and which
   * queues no living worker serves although tasks wait in them or, once workers run, a definition names them.
   */
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
  const { database, sender, starter, tasks } = parts;
  let closing: Promise<void> | undefined;

  parts.file ??= callerFile(posthaste);

  const app: Posthaste & { readonly [appBrand]: () => AppFacts } = {
    // A function, so that printing an app does not show its config with the password.
    [appBrand]: () => ({
      taskNames: tasks.map(({ name }) => name),
      workflows: withNested(parts.workflows),
      config: parts.config,
      settings: listConfigSettings(parts.config, given, process.env),
      verifySchemaOnly: () => database.verifySchemaOnly(),
      readActivity: () => readActivity(database),
      ping: () => database.ping(),
      loadedFrom: (file) => (parts.file = parts.namedFile ?? file),
      runBlockingInline: () => (parts.isBlockingInline = parts.namedFile === undefined),
    }),
    async send(task, ...[input, options]) {
      return handleOf(parts, await sender.send(task, input, options, currentTask() !== undefined));
    },
    async sendMany(task, items, { tx, ...shared } = {}) {
      const ids = await sender.sendMany(task, readItems(task, items, shared), tx);
      return ids.map((id) => handleOf(parts, id));
    },
    async start(workflow, ...[input, options]) {
      return runOf(parts, await starter.start(workflow, input, options));
    },
    task: (_task, id) => handleOf(parts, requireUuid(id)),
    workflow: (_workflow, id) => runOf(parts, requireUuid(id, "run")),
    worker: (options) => makeWorker(parts, options),
    async runWorker(options) {
      const isSignalled = await runUntilSignal(makeWorker(parts, options));
      if (isSignalled) await app.close(); // or its sessions would keep the process alive after a signal
    },
    scheduler: (options) => makeScheduler(parts, options),
    async runScheduler(options) {
      const isSignalled = await runUntilSignal(makeScheduler(parts, options));
      if (isSignalled) await app.close(); // as above
    },
    admin: makeAdmin(
      { ...parts, recovery: parts.config.recovery, workerRecovery: parts.config.workerRecovery },
      parts.config,
    ),
    check: ({ live = false } = {}) => checkApp({ ...parts, live }),
    ensureSchema: () => database.ensureSchema(),
    migrate: () => database.migrate(),
    get databaseUrl() {
      return parts.location.url;
    },
    close: () => (closing ??= closeAll(parts)),
    [Symbol.asyncDispose]: () => app.close(),
  };
  // Not enumerable: an app that is logged or made JSON must not take the password with it.
  Object.defineProperty(app, "databaseUrl", { enumerable: false });
  const stage = threadStage();
  if (stage === undefined) return app;
  stage.apps.push({ tasks, services: threadServices(parts) });
  return onStage(app, stage);
}

type Parts = ReturnType<typeof assemble>;

function assemble(given: AppConfig) {
  const {
    config,
    tasks,
    contracts,
    workflows,
    schedules,
    context = (): WorkerContext => undefined,
    hooks: listed,
    file: namedFile,
  } = readAppConfig(given, process.env);
  const log = given.logger === undefined ? defaultLogger("info") : fromAppLogger(given.logger);
  const workerLogger = ({ logLevel, logFormat }: WorkerSettings): Logger =>
    given.logger === undefined && (logLevel ?? logFormat) !== undefined
      ? defaultLogger(logLevel ?? "info", logFormat)
      : atLevel(log, logLevel);
  const location = new DatabaseLocation(config, log, (): URL | undefined => parts.file);
  const { schema, autoMigrate } = config;
  const database = new Database({ locate: location.locate, schema, autoMigrate, log });
  const listener = appListener(database, config, log);
  const { notifyPollIntervalMs: pollEveryMs } = config.resilience;
  const workers = new Set<Worker>();
  const waiting = { database, listener, pollEveryMs, log, onWait: warnWaitingHandlers(workers) };
  const waits = new ResultWaits({ ...waiting, awaited: awaitedTasks });
  const runWaits = new ResultWaits({ ...waiting, awaited: awaitedRuns });
  const hooks = hookRunner(listed, log);
  const sender = new Sender(database, config, log, hooks.emit);
  const starter = new Starter(database, config, log);
  /** The file that a thread for blocking tasks loads. */
  const file = namedFile;
  const targets = knownTargets([...contracts, ...tasks], workflows, schedules);
  const parts = {
    config,
    log,
    tasks,
    contracts,
    workflows,
    schedules,
    targets,
    definedQueues: definedQueues([...targets.tasks.values()], [...targets.workflows.values()]),
    definitions: targets.tasks,
    context,
    workerLogger,
    writesDebug: writesDebug(given.logger),
    location,
    database,
    listener,
    waits,
    runWaits,
    hooks,
    sender,
    starter,
    workers,
    endWatch: warnWhenForgotten({
      sessionCount: () => database.sessionCount,
      isBusy: () => workers.size > 0 || waits.isWaiting || runWaits.isWaiting,
      log,
    }),
    namedFile,
    file,
    isBlockingInline: false,
  };
  return parts;
}

function handleOf<T extends AnyContract>(
  { database, waits, hooks }: Parts,
  id: string,
): TaskHandle<T> {
  return taskHandle(database, waits, hooks, id);
}

function runOf<W extends AnyWorkflow>(
  { database, runWaits, hooks }: Parts,
  id: string,
): WorkflowRun<W> {
  return workflowRun(database, runWaits, hooks, id);
}

function makeWorker(parts: Parts, options?: WorkerOptions): Worker {
  const { config, tasks, file, isBlockingInline } = parts;
  const { settings, problems } = readWorkerOptions(options, config, availableParallelism());
  const found = [...problems, ...(isBlockingInline ? [] : threadProblems(tasks, file))];
  if (found.length > 0) {
    throw PosthasteError.of("CONFIG_INVALID", "the worker's options are not valid", found);
  }
  if (tasks.length === 0) {
    throw new PosthasteError(
      "CONFIG_INVALID",
      "the app has no task that a worker could run; list its tasks: posthaste({ tasks: [...] })",
    );
  }
  return newWorker(parts, settings, tasks);
}

/** A worker without queues, tasks and slots. It may lead, so it does a leader's maintenance too. */
function makeScheduler(parts: Parts, options?: SchedulerOptions): Worker {
  const { settings, problems } = readSchedulerOptions(options, parts.config);
  if (problems.length > 0) {
    throw PosthasteError.of("CONFIG_INVALID", "the scheduler's options are not valid", problems);
  }
  return newWorker(parts, settings, []);
}

function newWorker(parts: Parts, settings: WorkerSettings, tasks: readonly AnyTask[]): Worker {
  const { config, context, hooks, workerLogger, database, listener, workers } = parts;
  const { file, isBlockingInline } = parts;
  const bundled = bundleProblem();
  if (bundled !== undefined) throw new PosthasteError("CONFIG_INVALID", bundled);
  const log = workerLogger(settings);
  const worker = new Worker({
    database,
    config,
    settings,
    registry: taskRegistry(tasks),
    localWorkers: parts.sender.localWorkers,
    threads: isBlockingInline ? undefined : file && threadPool(parts, file, settings.threads, log),
    listener,
    version,
    log,
    logsEveryTask:
      settings.logLevel === undefined ? parts.writesDebug : settings.logLevel === "debug",
    makeContext: context,
    hooks,
    sendChild: childSender(parts),
    startMaintenance: ({ workerId, leads, mayJudge }) => {
      const workerLog = childLogger(log, { worker: workerId });
      return startMaintenance({
        database,
        recovery: config.recovery,
        workerRecovery: settings.workerRecovery,
        unknownTaskGraceMs: config.unknownTaskGraceMs,
        workerId,
        hooks,
        log: workerLog,
        definitions: parts.definitions,
        isLeader: leads,
        mayJudge,
        prune: retentionRounds(database, config.recovery, workerLog),
      });
    },
    storeSchedules: () => storeSchedules(parts, "code", parts.schedules),
    startScheduler: ({ leads }) => startScheduler(parts, log, leads),
    onStopped: () => workers.delete(worker),
  });
  workers.add(worker);
  return worker;
}

function startScheduler(parts: Parts, log: Logger, isLeader: () => boolean): Scheduler {
  const listed = parts.schedules.map(({ name }) => name);
  const onSent = (tasks: readonly OutgoingTask[]): void => parts.sender.stored(tasks);
  return new Scheduler({ ...parts, log, listed, isLeader, onSent });
}

/** The definitions that the app knows, those of its schedules included. */
function knownTargets(
  tasks: readonly AnyContract[],
  workflows: readonly AnyWorkflow[],
  schedules: readonly Schedule[],
): Targets {
  const targets = schedules.map(({ target }) => target);
  const scheduled = targets.flatMap((target) => ("task" in target ? [target.task] : []));
  const started = targets.flatMap((target) => ("workflow" in target ? [target.workflow] : []));
  return {
    tasks: new Map([...scheduled, ...tasks].map((task) => [task.name, task])),
    workflows: new Map([...started, ...workflows].map((workflow) => [workflow.name, workflow])),
  };
}

function threadPool(
  { config, location }: Parts,
  file: URL,
  threads: number,
  log: Logger,
): ThreadPool {
  const embeddedUrl = (): string | undefined =>
    config.database === undefined ? location.url : undefined;
  return new ThreadPool({ program: { ...threadProgram(file), embeddedUrl }, threads, log });
}

function childSender(parts: Parts): SendChild {
  return async (parent, task, input, options) =>
    handleOf(parts, await parts.sender.sendAsChild(parent, task, input, options));
}

/** The services of handlers on a thread that has loaded this app. The context is made once, for the first handler. */
function threadServices(parts: Parts): () => Promise<HandlerServices> {
  const { database, config, context } = parts;
  let made: Promise<HandlerServices> | undefined;
  const make = async (): Promise<HandlerServices> => {
    await database.locate(); // a context may want to know where it is
    return {
      database,
      payload: config.payload,
      context: await context(),
      sendChild: childSender(parts),
    };
  };
  return () => (made ??= make());
}

/** In the order in which they need each other: workers write their last results before the connections go. */
async function closeAll(parts: Parts): Promise<void> {
  const { workers, database, location, endWatch } = parts;
  endWatch();
  await Promise.all([...workers].map((worker) => worker.stop()));
  const abandon = (): void => database.abandon();
  await despiteSilence(database, () => closeConnections(parts), abandon);
  await location.release();
}

async function closeConnections(parts: Parts): Promise<void> {
  const { sender, starter, hooks, waits, runWaits, listener, database } = parts;
  await Promise.all([sender.close(), starter.close()]);
  await hooks.idle();
  await Promise.all([waits.close(), runWaits.close(), listener.close()]);
  await database.close();
}
