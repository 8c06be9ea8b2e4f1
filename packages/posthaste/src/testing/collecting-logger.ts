/** A logger that keeps its lines, for a test to look at. */
import type { Logger, LogLine } from "../domain/logger.ts";

export interface CollectedLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface CollectingLogger extends Logger {
  /** Everything that was logged, oldest first. */
  readonly lines: readonly CollectedLine[];
}

/**
 * A logger for `testKit`, `callTask` or `posthaste` itself.
 *
 *     const log = collectingLogger();
 *     await callTask(chargeCard, { card: "4711" }, { log });
 *     expect(log.lines).toMatchObject([{ level: "warn", message: "the card is about to expire" }]);
 */
export function collectingLogger(): CollectingLogger {
  const lines: CollectedLine[] = [];
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
