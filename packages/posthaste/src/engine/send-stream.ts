/**
 * Many sends in one transaction, while they are still being composed: PostgreSQL inserts one part and this process writes
 * the next. All or none, as with `sendBulk`: if composing fails, what was inserted is rolled back.
 */
import { BEGIN, COMMIT, ROLLBACK } from "../store/transaction.ts";
import type { OutgoingTask } from "./compose-task.ts";
import type { Database } from "./database.ts";
import { storeFresh } from "./insert-fresh.ts";
import { mayPass } from "./repeat-safely.ts";
import { explainRefusal, landed } from "./send-tasks.ts";
import type { Landed, WorkerWaker } from "./wake-workers.ts";

/**
 * Takes every part even when an insert has failed, so that the caller holds all tasks and can send them again: an error
 * that `mayPass` says nothing about whether they were stored. Nothing else may use the session meanwhile.
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
  const everything: Landed[] = [];
  issue(connection.query(BEGIN));
  try {
    for await (const part of parts) {
      issue(storeFresh(database, connection, part));
      everything.push(...part.map(landed));
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
  waker.announce(connection, everything);
}
