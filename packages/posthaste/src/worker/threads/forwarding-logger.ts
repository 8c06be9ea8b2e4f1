/** The logger of a body on a thread: its lines are written by the main one. */
import { inspect } from "node:util";
import type { Logger, LogLine } from "../../domain/logger.ts";
import type { AttemptFacts, FromThread } from "./messages.ts";

export function forwardingLogger(
  { taskId, claimId }: AttemptFacts,
  say: (line: FromThread) => void,
): Logger {
  const line =
    (level: keyof Logger): LogLine =>
    (first: object | string, text?: string): void => {
      const given = typeof first === "string" ? {} : first;
      const message = typeof first === "string" ? first : (text ?? "");
      const said = { kind: "log", taskId, claimId, level, message } as const;
      try {
        say({ ...said, fields: given });
      } catch {
        // A function, a proxy, a socket: it cannot leave the thread, and a line must not fail the task that wrote it.
        say({ ...said, fields: inspected(given) });
      }
    };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

function inspected(fields: object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, inspect(value)]));
}
