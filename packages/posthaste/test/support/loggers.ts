import type { Logger, LogLine } from "../../src/domain/logger.ts";

const silent: LogLine = () => undefined;

export const silentLogger: Logger = { debug: silent, info: silent, warn: silent, error: silent };

/** A logger that remembers every line. */
export { collectingLogger as recordingLogger } from "../../src/testing/collecting-logger.ts";

/** The log lines but those about a blocked event loop: a busy machine blocks any event loop for a second. */
export function withoutBlockedLoop<Line extends { message: string }>(
  lines: readonly Line[],
): Line[] {
  return lines.filter(({ message }) => !message.startsWith("event loop was blocked"));
}
