/**
 * Many sends in one transaction, while they are still being composed: PostgreSQL inserts one part and this process writes
 * the next. All or none, as with `sendBulk`: if composing fails, the transaction rolls back.
 */
import type { Database } from "../database/database.ts";
import { mayPass } from "../database/repeat-safely.ts";
import { BEGIN, COMMIT, ROLLBACK } from "../store/transaction.ts";
import type { OutgoingTask } from "./compose-task.ts";
import { storeFresh } from "./insert-fresh.ts";
import { explainRefusal, queueHint } from "./send-tasks.ts";
import type { QueueHint, WorkerWaker } from "./wake-workers.ts";

/**
 * Takes every part even when an insert has failed, so that the caller has all tasks and can send them again: after an
 * error that `mayPass` the tasks may be stored or not. No other call may use the session meanwhile.
 */
export async function sendStream(
  database: Database,
  waker: WorkerWaker,
  parts: AsyncIterable<readonly OutgoingTask[]>,
): Promise<void> {
  await database.ensureSchema();
  const connection = await database.bulkSends.connection();
  const answers: Promise<unknown>[] = [];
  const issue = (answer: Promise<unknown>): void => {
    answer.catch(() => undefined); // looked at below, together with the others
    answers.push(answer);
  };
  const everything: QueueHint[] = [];
  issue(connection.query(BEGIN));
  try {
    for await (const part of parts) {
      issue(storeFresh(database, connection, part));
      everything.push(...part.map(queueHint));
    }
  } catch (error) {
    issue(connection.query(ROLLBACK));
    await Promise.allSettled(answers);
    throw error;
  }
  issue(connection.query(COMMIT));
  const failed = (await Promise.allSettled(answers)).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected")
    throw mayPass(failed.reason) ? failed.reason : explainRefusal(failed.reason);
  waker.notify(connection, everything);
}
