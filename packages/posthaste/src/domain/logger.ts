/** Loggers: the one that an application gives, and the one that Posthaste and handlers write to. */

/**
 * A logger of the application: pino, console, or anything with these four methods. It is always called with the fields first and the
 * text second, as pino wants it.
 */
export interface AppLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The logger of `ctx.log`: takes fields and text in either order. */
export interface Logger {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
}

export interface LogLine {
  (fields: object, message: string): void;
  (message: string, fields?: object): void;
}

/** A logger that hands over each line as level, fields and text. */
export function loggerOf(
  write: (level: keyof Logger, fields: object, message: string) => void,
): Logger {
  const line =
    (level: keyof Logger): LogLine =>
    (first: object | string, second?: object | string) => {
      if (typeof first === "string")
        write(level, typeof second === "object" ? (second ?? {}) : {}, first);
      else write(level, first, typeof second === "string" ? second : "");
    };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

export function fromAppLogger(given: AppLogger): Logger {
  return loggerOf((level, fields, message) => given[level](fields, message));
}

/** A logger whose every line carries the same fields. A line's own field wins. */
export function childLogger(log: Logger, fields: object): Logger {
  return loggerOf((level, own, message) => log[level]({ ...fields, ...own }, message));
}

const levels = ["debug", "info", "warn", "error"] as const satisfies readonly (keyof Logger)[];

/** A logger that drops lines below a level. */
export function atLevel(log: Logger, least: keyof Logger | undefined): Logger {
  if (least === undefined) return log;
  return loggerOf((level, fields, message) => {
    if (levels.indexOf(level) >= levels.indexOf(least)) log[level](fields, message);
  });
}

/** Whether the logger writes `debug` lines, by its `level` (pino and others have one). */
export function writesDebug(given: AppLogger | undefined): boolean {
  const { level, isLevelEnabled } = (given ?? {}) as {
    readonly level?: unknown;
    readonly isLevelEnabled?: unknown;
  };
  if (typeof isLevelEnabled === "function")
    return Boolean(Reflect.apply(isLevelEnabled, given, ["debug"]));
  return level === "debug" || level === "trace" || level === "silly";
}
