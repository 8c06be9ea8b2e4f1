/** The logger that is used when none is given: a JSON object a line, to stderr. */
const levels = ["debug", "info", "warn", "error", "silent"] as const;

export type LogLevel = (typeof levels)[number];

export const logLevels: readonly string[] = levels;

type Line = (first: object | string, message?: string) => void;

export function jsonLogger(
  level: LogLevel,
  write: (line: string) => void = (line) => process.stderr.write(line),
): { readonly debug: Line; readonly info: Line; readonly warn: Line; readonly error: Line } {
  const least = levels.indexOf(level);
  const line =
    (name: LogLevel): Line =>
    (first, message) => {
      if (levels.indexOf(name) < least) return;
      const fields = typeof first === "string" ? { message: first } : { message, ...first };
      write(`${JSON.stringify({ time: new Date().toISOString(), level: name, ...fields })}\n`);
    };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}
