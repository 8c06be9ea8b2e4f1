/** The logger that is used when none is given: lines for people on a terminal, JSON otherwise. */
import { jsonLogger, type LineLogger, type LogLevel } from "./json-logger.ts";
import { textLogger } from "./text-logger.ts";

export const logFormats = ["text", "json"] as const;
export type LogFormat = (typeof logFormats)[number];

/** Read by every logger of the process, its threads and its children, also by those made before a worker's options are known. */
export const LOG_FORMAT_VARIABLE = "POSTHASTE_LOG_FORMAT";

export function defaultLogger(level: LogLevel, format: LogFormat = usualFormat()): LineLogger {
  return format === "text" ? textLogger(level) : jsonLogger(level);
}

function usualFormat(): LogFormat {
  const named = logFormats.find((format) => format === process.env[LOG_FORMAT_VARIABLE]);
  return named ?? (process.stderr.isTTY ? "text" : "json");
}
