/** The part of pino that Posthaste calls; any logger with these four methods will do. */
export interface Logger {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
}

export interface LogLine {
  (fields: object, message: string): void;
  (message: string): void;
}
