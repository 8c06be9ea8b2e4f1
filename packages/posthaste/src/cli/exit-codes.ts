/** The exit codes of every command, and which error leads to which. */
import { CommanderError } from "commander";
import { PosthasteError } from "../domain/errors.ts";
import { Interrupted } from "./interruption.ts";
import { UsageError } from "./usage-error.ts";

/** Each code with its meaning, for people. */
export const exitCodes = {
  done: { code: 0, meaning: "done" },
  failed: { code: 1, meaning: "failed, a problem was found, or the database is away" },
  usage: { code: 2, meaning: "called wrongly, or the app's config is not valid" },
  notCompleted: {
    code: 3,
    meaning: "the awaited task did not complete, or not in time (`tasks send --wait`)",
  },
  notFound: { code: 4, meaning: "there is no such task, run, queue or schedule" },
  interrupted: { code: 130, meaning: "interrupted by Ctrl-C" },
} as const;

export function exitCodeOf(error: unknown): number {
  // Commander has printed the error or the help.
  if (error instanceof CommanderError)
    return (error.exitCode === 0 ? exitCodes.done : exitCodes.usage).code;
  if (error instanceof UsageError) return exitCodes.usage.code;
  if (error instanceof Interrupted) return exitCodes.interrupted.code;
  if (!(error instanceof PosthasteError)) return exitCodes.failed.code;
  switch (error.code) {
    case "CONFIG_INVALID":
    case "DEFINITION_INVALID":
    case "VALIDATION_FAILED":
    case "PAYLOAD_TOO_LARGE":
      return exitCodes.usage.code;
    case "TASK_NOT_FOUND":
    case "WORKFLOW_NOT_FOUND":
    case "QUEUE_NOT_FOUND":
    case "SCHEDULE_NOT_FOUND":
      return exitCodes.notFound.code;
    case "WAIT_TIMEOUT":
      return exitCodes.notCompleted.code;
    case "DATABASE_UNAVAILABLE":
    case "STATEMENT_TIMEOUT":
    case "SCHEMA_MISMATCH":
    case "PERMISSION_DENIED":
    case "CLOSED":
      return exitCodes.failed.code;
  }
}
