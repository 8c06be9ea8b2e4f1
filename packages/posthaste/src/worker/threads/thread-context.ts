/** What a handler on a thread is told: the same as elsewhere; its log lines are written by the main thread. */
import { inspect } from "node:util";
import type { TaskContext } from "../../define/task-context.ts";
import type { Logger, LogLine } from "../../domain/logger.ts";
import type { CallFacts, FromThread } from "./messages.ts";

export class ThreadContext implements TaskContext {
  readonly taskId: string;
  readonly name: string;
  readonly queue: string;
  readonly attempt: number;
  readonly workerId: string;
  readonly claimId: string;
  readonly signal: AbortSignal;
  readonly log: Logger;

  constructor(facts: CallFacts, signal: AbortSignal, say: (message: FromThread) => void) {
    this.taskId = facts.taskId;
    this.name = facts.name;
    this.queue = facts.queue;
    this.attempt = facts.attempt;
    this.workerId = facts.workerId;
    this.claimId = facts.claimId;
    this.signal = signal;
    this.log = forwardingLogger(facts, say);
  }
}

function forwardingLogger({ taskId, claimId }: CallFacts, say: (line: FromThread) => void): Logger {
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
