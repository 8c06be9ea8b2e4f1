/** Completes a task in one commit with the writes of its handler: in `ctx.transaction`, or in a transaction of the user. */
import { joinCallers, requireOwnDatabase } from "../../database/callers-transaction.ts";
import type { Database } from "../../database/database.ts";
import { mayPass } from "../../database/repeat-safely.ts";
import type { CallersTransaction } from "../../define/send-options.ts";
import type { TaskTransaction } from "../../define/task-context.ts";
import type { AnyTask } from "../../define/task.ts";
import { PosthasteError } from "../../domain/errors.ts";
import { isFailure, TaskError } from "../../domain/result.ts";
import { TaskAborted } from "../../domain/task-aborted.ts";
import { Backoff } from "../../runtime/backoff.ts";
import { pause } from "../../runtime/pause.ts";
import { clientAsDb } from "../../store/callers-transaction.ts";
import { isConnectionError } from "../../store/pg-errors.ts";
import type { Claim } from "../../store/queries/claim/stored-claims.ts";
import type { CompletionFate } from "../../store/queries/settle/complete-with-effects.ts";
import type { Db } from "../../store/sql.ts";
import { judgeReturned } from "./execute-task.ts";

export interface CompletingAttempt {
  readonly claim: Claim;
  /** A node: the same commit advances its attempt. */
  readonly isNode: boolean;
  readonly task: AnyTask;
  readonly database: Database;
  readonly resultLimit: number | null;
  /** Throws if the attempt may use `ctx` no longer. */
  readonly checkAborted: () => void;
}

/** Carries a returned `fail(…)` out of the transaction, which rolls back. */
class RolledBack extends Error {
  readonly returned: unknown;

  constructor(returned: unknown) {
    super("rolled back");
    this.returned = returned;
  }
}

/** Runs `use` and the completion in one commit. `isDone` is false where `use` returned a failure. */
export async function completeInTransaction<Value>(
  attempt: CompletingAttempt,
  use: (tx: TaskTransaction) => Promise<Value>,
): Promise<{ readonly value: Value; readonly isDone: boolean }> {
  const { database, claim } = attempt;
  attempt.checkAborted();
  await database.ensureSchema();
  try {
    const value = await database.taskPool.inTransaction(
      async (client, mark) => {
        const returned = await use(client);
        if (isFailure(returned)) throw new RolledBack(returned);
        await completeOn(attempt, clientAsDb(client), returned, mark);
        return returned;
      },
      async (error) =>
        isConnectionError(error) && (await awaitCompletion(database, claim)) === "committed",
    );
    await notifyWaitersOf(database, claim);
    return { value, isDone: true };
  } catch (error) {
    if (error instanceof RolledBack) return { value: error.returned as Value, isDone: false };
    throw error;
  }
}

/** Completes inside the caller's transaction; `awaitCompletion` finds out whether it commits. */
export async function completeInCallersTransaction(
  attempt: CompletingAttempt,
  value: unknown,
  tx: CallersTransaction,
): Promise<void> {
  attempt.checkAborted();
  await completeOn(attempt, await joinCallers(attempt.database, tx), value, null);
}

/** @param mark of the transaction, if it is one of ours */
async function completeOn(
  attempt: CompletingAttempt,
  db: Db,
  value: unknown,
  mark: string | null,
): Promise<void> {
  const { task, claim, isNode, database, resultLimit } = attempt;
  const { completeWithEffects, advanceWorkflows } = database.store;
  const judged = await judgeReturned(task, value, resultLimit);
  if (!judged.ok) throw new TaskError(judged.error.code, judged.error.message, judged.error.data);
  attempt.checkAborted();
  if (isNode) await advanceWorkflows.lock(db, [claim.id]);
  const answer = await completeWithEffects.complete(db, claim, judged.value, mark);
  if (answer === "cancelled") throw new TaskAborted("CANCEL_REQUESTED");
  if (answer === "ended") throw transactionEnded();
  if (answer === "lost") {
    await requireOwnDatabase(database, db);
    throw new TaskAborted("CLAIM_LOST");
  }
  if (isNode) await advanceWorkflows.advanceAndNotify(db, [claim.id]);
}

function transactionEnded(): PosthasteError {
  return new PosthasteError(
    "VALIDATION_FAILED",
    "the task was not completed: the handler has ended the transaction of ctx.transaction(); leave commit and rollback to it " +
      "(return a value to commit, throw to roll back)",
  );
}

/** Resolves when the transaction that completed this claim has ended, however long it takes. */
export async function awaitCompletion(
  database: Database,
  claim: Claim,
): Promise<Exclude<CompletionFate, "open">> {
  const backoff = new Backoff({ initialMs: 20, maxMs: 1_000 });
  for (;;) {
    try {
      const fate = await database.store.completeWithEffects.fate(database.reads, claim);
      if (fate !== "open") return fate;
    } catch (error) {
      if (!mayPass(error)) throw error;
    }
    await pause(backoff.next());
  }
}

export async function notifyWaitersOf({ store, reads }: Database, { id }: Claim): Promise<void> {
  await store.awaitResults.notify(reads, [id]).catch(() => undefined); // waiters poll
}
