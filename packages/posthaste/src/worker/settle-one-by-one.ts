/** After a batch of ends that PostgreSQL refused: the one bad row must not keep the others from being written. */
import type { ResultCode } from "../domain/errors.ts";
import { isRepeatable } from "../engine/repeat-safely.ts";
import type { Database } from "../engine/database.ts";
import { tellWaiters } from "../engine/work-cycle.ts";
import type { Link } from "../store/link.ts";
import type { SettleReply } from "../store/queries/settle-tasks.ts";
import { announceEnds } from "./announce-runs.ts";
import type { EndedTask, HeldTasks } from "./held-tasks.ts";
import type { RunServices } from "./run-services.ts";

export interface SettleOneByOne {
  readonly services: RunServices;
  readonly settles: readonly EndedTask[];
  readonly held: HeldTasks;
  /** Writes one of them, and tells those who wait for it. */
  readonly write: (end: EndedTask) => Promise<SettleReply>;
}

/** True if any of them is dealt with now. What is not is tried again when the database is back. */
export async function settleOneByOne(asked: SettleOneByOne): Promise<boolean> {
  const { services, settles, held, write } = asked;
  const { log } = services;
  let isAnyDone = false;
  for (const settled of settles) {
    try {
      await settleOrFail(services, settled, write);
      held.written([settled]);
    } catch (error) {
      if (isRepeatable(error)) break;
      held.giveUpOn(settled);
      log.error(
        { taskId: settled.id, error: String(error) },
        "the end of a task could not be written; it stays RUNNING until it is recovered",
      );
    }
    isAnyDone = true;
  }
  return isAnyDone;
}

/** Where the value is what PostgreSQL refuses (too large, too deep), the task fails and says so. */
async function settleOrFail(
  services: RunServices,
  settled: EndedTask,
  write: SettleOneByOne["write"],
): Promise<void> {
  const { log } = services;
  const writeAndSay = async (end: EndedTask): Promise<void> =>
    announceEnds(services, [end], await write(end));
  try {
    await writeAndSay(settled);
  } catch (refusal) {
    if (isRepeatable(refusal)) throw refusal;
    const { result: _, ...rest } = settled;
    const code: ResultCode = "WORKER_SERIALIZATION_ERROR";
    const reason = refusal instanceof Error ? refusal.message : String(refusal);
    const error = JSON.stringify({ code, message: `PostgreSQL refused the result: ${reason}` });
    await writeAndSay({ ...rest, edge: "fail", code, error });
    log.warn(
      { taskId: settled.id, error: reason },
      "PostgreSQL refused a task's result; the task failed",
    );
  }
}

/** Writes the end of a plain task by itself. */
export function settleAlone(
  { store }: Database,
  link: Link,
  onNotifyError: (error: unknown) => void,
): SettleOneByOne["write"] {
  return async (end) => {
    const connection = await link.connection();
    const reply = await store.settleTasks(connection, [end]);
    tellWaiters(store, connection, [end.id], onNotifyError);
    return reply;
  };
}
