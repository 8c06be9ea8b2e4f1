/**
 * Where a worker that starts ahead writes the ends of plain tasks. Its bodies begin without waiting for a claim, so its claims
 * and its ends need not travel together, and two of the server's processes can work at once.
 */
import { wakeQueues, type Landed } from "../engine/wake-workers.ts";
import { endedIds, tellWaiters } from "../engine/work-cycle.ts";
import type { Connection } from "../store/connection.ts";
import type { SettleReply } from "../store/queries/settle-tasks.ts";
import { announceEnds } from "./announce-runs.ts";
import { EndLane } from "./end-lane.ts";
import { whatCameBack, type EndedTask, type HeldTasks } from "./held-tasks.ts";
import { reviewSettles } from "./review-settles.ts";
import type { RunServices } from "./run-services.ts";
import { watchLink } from "./watch-link.ts";

export interface PlainLaneOptions {
  readonly services: RunServices;
  readonly held: HeldTasks;
  /** Something came back that this worker may take itself. */
  readonly onLanded: (landed: Landed) => void;
  readonly onWritten: () => void;
  readonly onNotifyError: (error: unknown) => void;
}

export function plainLane(options: PlainLaneOptions): EndLane {
  const { services, held, onWritten } = options;
  return new EndLane({
    services,
    held,
    name: "ends",
    hasEnds: () => held.hasEnds,
    next: () => held.nextEnds(),
    write: (connection, settles) => write(options, connection, settles),
    writeAlone: (connection, end) => settle(options, connection, [end]),
    onWritten,
  });
}

async function write(
  options: PlainLaneOptions,
  connection: Connection,
  settles: readonly EndedTask[],
): Promise<void> {
  const { services, held, onLanded, onNotifyError } = options;
  const { database } = services;
  await watchLink(database, connection, async () => {
    const reply = await settle(options, connection, settles);
    held.written(settles);
    announceEnds(services, settles, reply);
    const { own, others } = whatCameBack(settles);
    for (const landed of own) onLanded(landed);
    if (others.length > 0) wakeQueues(connection, database.store, others).catch(onNotifyError);
    await reviewSettles({ services, connection, settles, reply, onNotifyError });
  });
}

function settle(
  { services, onNotifyError }: PlainLaneOptions,
  connection: Connection,
  settles: readonly EndedTask[],
): Promise<SettleReply> {
  const { store } = services.database;
  return connection.together(() => {
    const reply = store.settleTasks(connection, settles);
    tellWaiters(store, connection, endedIds(settles), onNotifyError);
    return reply;
  });
}
