import type { Logger, LogLine } from "../../src/domain/logger.ts";

const silent: LogLine = () => undefined;

export const silentLogger: Logger = { debug: silent, info: silent, warn: silent, error: silent };

/** A logger that remembers every line. */
export { collectingLogger as recordingLogger } from "../../src/testing/collecting-logger.ts";
