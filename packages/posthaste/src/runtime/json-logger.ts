/** A logger of JSON: an object a line, to stderr. */
import { inspect } from "node:util";
import { writeToStderr } from "./write-to-stderr.ts";

const levels = ["debug", "info", "warn", "error", "silent"] as const;

export type LogLevel = (typeof levels)[number];
type WrittenLevel = Exclude<LogLevel, "silent">;

type Line = (first: object | string, second?: object | string) => void;

export type LineLogger = { readonly [Level in WrittenLevel]: Line };

export function jsonLogger(
  level: LogLevel,
  write: (line: string) => void = writeToStderr,
): LineLogger {
  return loggerThat(level, (name, fields, message) => {
    const time = new Date().toISOString();
    write(`${text({ time, level: name, message, ...fields })}\n`);
  });
}

/** Drops lines below a level. Fields and text come in either order. */
export function loggerThat(
  level: LogLevel,
  write: (level: WrittenLevel, fields: object, message: string) => void,
): LineLogger {
  const least = levels.indexOf(level);
  const line =
    (name: WrittenLevel): Line =>
    (first, second) => {
      if (levels.indexOf(name) < least) return;
      const [message, fields] = typeof first === "string" ? [first, second] : [second, first];
      const words = typeof message === "string" ? message : "";
      write(name, typeof fields === "object" ? fields : {}, words);
    };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

/** Handlers log whatever they have at hand, and a line must not fail the task that wrote it. */
function text(line: { readonly time: string; readonly level: string; message?: unknown }): string {
  try {
    return JSON.stringify(line, readable);
  } catch {
    const { time, level, message, ...fields } = line; // cyclic, or a toJSON that throws
    return JSON.stringify({ time, level, message: String(message), fields: inspect(fields) });
  }
}

function readable(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  return value instanceof Error ? (value.stack ?? String(value)) : value;
}
