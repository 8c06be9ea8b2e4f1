/** A logger that keeps its lines, for a test to look at. */
import { loggerOf, type Logger } from "../domain/logger.ts";

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
  return {
    lines,
    ...loggerOf((level, fields, message) => lines.push({ level, message, fields: { ...fields } })),
  };
}
