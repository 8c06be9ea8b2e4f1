/** The listener of an app: notifications for its workers and its waiters. */
import type { Config } from "../config/config.ts";
import type { Database } from "../database/database.ts";
import type { Logger } from "../domain/logger.ts";
import { Listener } from "../runtime/listener.ts";
import { ownChannel } from "../sending/wake-workers.ts";

export function appListener(database: Database, config: Config, log: Logger): Listener {
  const { notifyPollIntervalMs: pollEveryMs, dbRetryInitialMs, dbRetryMaxMs } = config.resilience;
  return new Listener({
    open: () => database.openSession(),
    notify: (channel) => database.notify(channel),
    ownChannel: ownChannel(config.schema),
    // Never long: its return ends the longer pauses of workers, and waits for results rely on it.
    backoff: { initialMs: dbRetryInitialMs, maxMs: Math.min(dbRetryMaxMs, 3_000) },
    onDown: (error) =>
      log.warn(
        { error: String(error) },
        "listener lost its connection; polling until it reconnects",
      ),
    onUp: (downMs) => log.info({ downMs: Math.round(downMs) }, "listener reconnected"),
    onSilent: ({ waitedMs, isPooled }) =>
      isPooled
        ? log.warn(
            { pollEveryMs },
            "notifications do not arrive through the pooler; polling instead. Set database.sessionUrl to a direct connection",
          )
        : log.warn(
            { waitedMs, pollEveryMs },
            "listener has not received its own test notification; polling until it does",
          ),
  });
}
