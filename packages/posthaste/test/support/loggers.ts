import type { Logger, LogLine } from "../../src/domain/logger.ts";

const silent: LogLine = () => undefined;

export const silentLogger: Logger = { debug: silent, info: silent, warn: silent, error: silent };

export interface RecordedLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A logger that remembers every line. */
export function recordingLogger(): Logger & { readonly lines: RecordedLine[] } {
  const lines: RecordedLine[] = [];
  const line =
    (level: keyof Logger): LogLine =>
    (first: object | string, message?: string) => {
      if (typeof first === "string") lines.push({ level, message: first, fields: {} });
      else lines.push({ level, message: message ?? "", fields: { ...first } });
    };
  return {
    lines,
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
  };
}
