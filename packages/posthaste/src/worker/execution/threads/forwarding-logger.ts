/** The logger of a handler on a thread: its lines are written by the main one. */
import { inspect } from "node:util";
import { loggerOf, type Logger } from "../../../domain/logger.ts";
import type { AttemptFacts, FromThread } from "./messages.ts";

export function forwardingLogger(
  { taskId, claimId }: AttemptFacts,
  say: (line: FromThread) => void,
): Logger {
  return loggerOf((level, fields, message) => {
    const line = { kind: "log", taskId, claimId, level, message } as const;
    try {
      say({ ...line, fields });
    } catch {
      // A function, a proxy, a socket: it cannot leave the thread, and a line must not fail the task that wrote it.
      say({ ...line, fields: inspected(fields) });
    }
  });
}

function inspected(fields: object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, inspect(value)]));
}
