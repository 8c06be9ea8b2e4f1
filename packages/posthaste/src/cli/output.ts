/** Output of commands: results to stdout, everything else to stderr, colours only on a terminal. */
import { styleText } from "node:util";
import { writeToStderr } from "../runtime/write-to-stderr.ts";

export type Style = Parameters<typeof styleText>[0];

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function complain(line: string): void {
  writeToStderr(`${paint("red", "error", process.stderr)} ${line}\n`);
}

/** Writes advice to stderr: it is not part of the answer. */
export function hint(line: string): void {
  writeToStderr(`${paint("gray", line, process.stderr)}\n`);
}

export function paint(
  style: Style,
  text: string,
  stream: NodeJS.WriteStream = process.stdout,
): string {
  const isPlain = !stream.isTTY || "NO_COLOR" in process.env;
  return isPlain ? text : styleText(style, text, { validateStream: false });
}

/** How many columns a line may have; undefined where it is not cut, because the output is no terminal. */
export function terminalWidth(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns : undefined;
}
