/** The one ear of an app: notifications for its workers and for those who wait for results. */
import type { Config } from "../domain/config.ts";
import type { Logger } from "../domain/logger.ts";
import type { Database } from "../engine/database.ts";
import { ownChannel } from "../engine/wake-workers.ts";
import { Listener } from "../runtime/listener.ts";

export function appListener(database: Database, config: Config, log: Logger): Listener {
  const { notifyPollIntervalMs: pollEveryMs, dbRetryInitialMs, dbRetryMaxMs } = config.resilience;
  return new Listener({
    open: () => database.openSession(),
    notify: (channel) => database.notify(channel),
    ownChannel: ownChannel(config.schema),
    // Never long: its return ends the longer pauses of workers, and waits for results rely on it.
    backoff: { initialMs: dbRetryInitialMs, maxMs: Math.min(dbRetryMaxMs, 3_000) },
    onDown: (error) =>
      log.warn({ error: String(error) }, "listener lost its connection; polling until it is back"),
    onUp: (downMs) => log.info({ downMs: Math.round(downMs) }, "listener connected again"),
    onSilent: ({ waitedMs, isPooled }) =>
      isPooled
        ? log.warn(
            { pollEveryMs },
            "notifications do not arrive through a pooler; polling instead. Give database.sessionUrl, a direct connection, to listen on",
          )
        : log.warn(
            { waitedMs, pollEveryMs },
            "no echo of our own notification so far; polling until one arrives",
          ),
  });
}
