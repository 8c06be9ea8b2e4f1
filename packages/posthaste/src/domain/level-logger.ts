/** A logger that passes on only what is at least as grave as a level. */
import type { Logger, LogLine } from "./logger.ts";

const levels = ["debug", "info", "warn", "error"] as const satisfies readonly (keyof Logger)[];

const nothing: LogLine = () => undefined;

export function atLevel(log: Logger, least: keyof Logger | undefined): Logger {
  if (least === undefined) return log;
  const line = (level: keyof Logger): LogLine => {
    if (levels.indexOf(level) < levels.indexOf(least)) return nothing;
    return (first: object | string, message?: string) => {
      if (typeof first === "string") log[level](first);
      else log[level](first, message ?? "");
    };
  };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}
