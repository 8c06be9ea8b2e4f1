/** Steps that the handlers of all chaos tasks share. */
import type { TaskContext } from "posthaste";
import { effectsFile, writeLine } from "./ledger.ts";

export const folder = process.env["CHAOS_FOLDER"] ?? ".";

/** Eight crashes in a row are rare, except for poison. */
export const RETRIES_MS = [100, 200, 300, 400, 500, 500, 500, 500];

/** Writes down that it began, outside the database. What it returns belongs into the task's result. */
export function begin(ctx: TaskContext): { claim: string } {
  const { taskId: task, claimId: claim, workerId: worker, attempt: run, name } = ctx;
  const at = new Date().toISOString();
  writeLine(effectsFile(folder, process.pid), { task, claim, worker, run, name, at });
  return { claim };
}
