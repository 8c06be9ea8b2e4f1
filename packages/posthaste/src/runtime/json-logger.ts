/** The logger that is used when none is given: a JSON object a line, to stderr. */
import { inspect } from "node:util";
import { writeToStderr } from "./write-to-stderr.ts";

const levels = ["debug", "info", "warn", "error", "silent"] as const;

export type LogLevel = (typeof levels)[number];

type Line = (first: object | string, second?: object | string) => void;

export function jsonLogger(
  level: LogLevel,
  write: (line: string) => void = writeToStderr,
): { readonly debug: Line; readonly info: Line; readonly warn: Line; readonly error: Line } {
  const least = levels.indexOf(level);
  const line =
    (name: LogLevel): Line =>
    (first, second) => {
      if (levels.indexOf(name) < least) return;
      const time = new Date().toISOString();
      const [message, fields] = typeof first === "string" ? [first, second] : [second, first];
      write(`${text({ time, level: name, message, ...(typeof fields === "object" && fields) })}\n`);
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
