/** The ends of plain tasks: one statement, and behind it the notification of their waiters, in one packet. */
import type { Connection } from "../../store/connection.ts";
import type { EndedTask } from "../held-tasks.ts";
import type { RunServices } from "../run-services.ts";
import { endedIds, notifyWaiters, type CommittedEnds } from "./after-commit.ts";

export async function writePlainEnds(
  services: RunServices,
  connection: Connection,
  ends: readonly EndedTask[],
): Promise<CommittedEnds> {
  const { store } = services.database;
  const reply = await connection.together(() => {
    const written = store.settleTasks(connection, ends);
    notifyWaiters(services, connection, endedIds(ends));
    return written;
  });
  return { reply };
}
