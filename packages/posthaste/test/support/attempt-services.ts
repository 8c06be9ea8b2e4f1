/** What a handler may ask of its worker, for tests without a database: whoever asks the database is told that there is none. */
import type { Logger } from "../../src/domain/logger.ts";
import { Database } from "../../src/database/database.ts";
import { hookRunner } from "../../src/hooks/hook-runner.ts";
import { ProgressReports } from "../../src/worker/execution/progress-reports.ts";
import type { AttemptServices } from "../../src/worker/execution/attempt-services.ts";
import { Rollups } from "../../src/worker/execution/rollups.ts";
import { TaskLog } from "../../src/worker/execution/task-log.ts";
import { silentLogger } from "./loggers.ts";

export function servicesWithoutDatabase(log: Logger = silentLogger): AttemptServices {
  const none = (): Promise<never> => Promise.reject(new Error("this test has no database"));
  const database = new Database({ locate: none, schema: "posthaste", autoMigrate: false, log });
  return {
    workerId: "w",
    log,
    database,
    payload: { warnBytes: null, rejectBytes: null },
    context: undefined,
    progress: new ProgressReports(database, log),
    taskLog: new TaskLog(log, false),
    rollups: new Rollups(),
    onLargeResult: () => undefined,
    sendChild: none,
    threads: undefined,
    hooks: hookRunner({}, log),
  };
}
