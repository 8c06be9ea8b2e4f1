/** A logger whose every line carries the same fields. */
import type { Logger, LogLine } from "./logger.ts";

export function childLogger(log: Logger, fields: object): Logger {
  const line =
    (level: keyof Logger): LogLine =>
    (first: object | string, message?: string): void => {
      if (typeof first === "string") log[level](fields, first);
      else log[level]({ ...fields, ...first }, message ?? "");
    };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}
