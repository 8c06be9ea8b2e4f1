/** The end of a call whose thread ended. */
import type { ResultCode } from "../../../domain/errors.ts";
import { thrownFailure, type Execution } from "../execute-task.ts";
import { serializeError } from "../serialize-error.ts";

export interface ThreadDeath {
  /** Whether the handler was running; before that, the file was being loaded. */
  readonly hasBegun: boolean;
  /** The file that the thread loads, as people write it. */
  readonly file: string;
  readonly heapLimitMb: number;
  /** The thread's last error, if Node reported one. */
  readonly error: unknown;
  readonly exitCode: number;
}

export function executionAfter(death: ThreadDeath): Execution {
  const { hasBegun, error } = death;
  if (!hasBegun) return loadFailure(death.file, sentence(death), error);
  if (error !== undefined && !isOutOfMemory(error)) {
    return { ran: true, ok: false, error: thrownFailure(error) };
  }
  const code: ResultCode = "UNHANDLED_ERROR";
  return { ran: true, ok: false, error: { code, message: `the task ${sentence(death)}` } };
}

/** The handler did not run, because its file could not be loaded or does not have the task. */
export function loadFailure(file: string, why: string, error?: unknown): Execution {
  const code: ResultCode = "WORKER_RESOLUTION_ERROR";
  const message = `the thread could not load the task from ${file}: ${why}`;
  const cause = error === undefined ? {} : { cause: serializeError(error) };
  return { ran: false, ok: false, error: { code, message, ...cause } };
}

function sentence({ error, heapLimitMb, exitCode }: ThreadDeath): string {
  if (isOutOfMemory(error)) return `ran out of memory (thread heap limit ${heapLimitMb} MB)`;
  if (error !== undefined) return serializeError(error).message;
  return `called process.exit(${exitCode})`;
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}
