/** After a round trip: what it has started or claimed begins, or waits for a slot. */
import type { CycleReply } from "../engine/work-cycle.ts";
import type { Connection } from "../store/connection.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import { announceExpired } from "./announce-runs.ts";
import { inClaimOrder } from "./claim-order.ts";
import type { AdoptedClaims } from "./claim-keeper.ts";
import type { HeldTasks } from "./held-tasks.ts";
import type { LoopPlan } from "./plan-cycle.ts";
import type { RunServices } from "./run-services.ts";
import { inTime, startedAhead } from "./started-ahead.ts";

export interface Beginner {
  readonly held: HeldTasks;
  readonly services: RunServices;
  readonly queueRanks: ReadonlyMap<string, number>;
  readonly run: (task: ClaimedTask) => void;
  readonly onNotifyError: (error: unknown) => void;
}

/** True if it is not known of some whether they were started. */
export function beginTasks(
  beginner: Beginner,
  connection: Connection,
  { starts }: LoopPlan,
  { start, claim, ahead }: CycleReply,
): boolean {
  const { held, services, run, onNotifyError } = beginner;
  const { runs = [], isUnclear = false } =
    start === undefined ? {} : startedAhead(held, starts, start);
  for (const task of runs) run(task);
  for (const task of inOrder(beginner, claim?.tasks ?? [])) run(task);
  held.fetchedAhead(inOrder(beginner, ahead?.tasks ?? []));
  const expired = [start, claim, ahead].flatMap((part) => part?.expired ?? []);
  announceExpired(services, connection, expired, onNotifyError);
  return isUnclear;
}

/** Claims whose acknowledgement was lost. Beyond the slots there are, they were fetched ahead. */
export function beginAdopted(
  beginner: Beginner,
  { started, claimed }: AdoptedClaims,
  freeSlots: number,
): void {
  const slots = Math.max(0, freeSlots);
  for (const task of started.slice(0, slots)) beginner.run(task);
  beginner.held.fetchedAhead([...started.slice(slots), ...inOrder(beginner, claimed)]);
}

/** Nodes that were claimed too late end without having run. */
function inOrder(
  { held, queueRanks }: Pick<Beginner, "held" | "queueRanks">,
  claimed: ClaimedTask[],
): ClaimedTask[] {
  return inClaimOrder(inTime(held, claimed), queueRanks);
}
