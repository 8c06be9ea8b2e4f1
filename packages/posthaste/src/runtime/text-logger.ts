/** Lines for people: `21:52:06.123 warn  task failed; retrying  task=0199… retryInMs=500`, to stderr. */
import { inspect, styleText } from "node:util";
import { loggerThat, type LineLogger, type LogLevel } from "./json-logger.ts";
import { writeToStderr } from "./write-to-stderr.ts";

const colours = { error: "red", warn: "yellow", info: "green", debug: "gray" } as const;

export function textLogger(
  level: LogLevel,
  write: (line: string) => void = writeToStderr,
  isColoured = process.stderr.isTTY && !("NO_COLOR" in process.env),
): LineLogger {
  const paint = (colour: Parameters<typeof styleText>[0], text: string): string =>
    isColoured ? styleText(colour, text, { validateStream: false }) : text;
  return loggerThat(level, (name, fields, message) => {
    const time = new Date().toISOString().slice(11, 23);
    const facts = Object.entries(fields).map(
      ([key, value]) => `${paint("gray", `${key}=`)}${valueText(value)}`,
    );
    const head = `${paint("gray", time)} ${paint(colours[name], name.padEnd(5))} ${message}`;
    write(`${[head, facts.join(" ")].filter((part) => part !== "").join("  ")}\n`);
  });
}

/** One line, whatever the value is. */
function valueText(value: unknown): string {
  if (typeof value === "string") return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  if (value instanceof Error) return JSON.stringify(value.stack ?? String(value));
  return inspect(value, { breakLength: Infinity, depth: 6 }).replaceAll("\n", " ");
}
