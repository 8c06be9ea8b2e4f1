/**
 * Writes the ends of a refused batch one by one, so that one bad end does not block the others. If PostgreSQL refuses an end alone, the
 * SQLSTATE decides (`errorKind`):
 *  - its value: the task fails with WORKER_SERIALIZATION_ERROR
 *  - a row that is stored already: the task has ended, and the claim goes
 *  - anything else: the end is kept in memory and written again later, with growing pauses. Refused five times while other
 *    ends of its kind are written in between, it is refused for its value after all. Missing rights are never its value.
 */
import { isRepeatable } from "../../database/repeat-safely.ts";
import { PosthasteError, type ResultCode } from "../../domain/errors.ts";
import type { Connection } from "../../store/connection.ts";
import { errorCode, errorKind } from "../../store/pg-errors.ts";
import type { AttemptServices } from "../execution/attempt-services.ts";
import type { EndedTask } from "../execution/ended-task.ts";
import type { EndList } from "../slots/end-list.ts";

export interface SettleOneByOne {
  readonly services: AttemptServices;
  /** The ends that were refused together. */
  readonly batch: readonly EndedTask[];
  readonly ends: EndList<EndedTask>;
  readonly connection: () => Promise<Connection>;
  /** Writes one of them and does what follows its commit. */
  readonly write: (end: EndedTask) => Promise<void>;
}

/** Refused alone so often while others were written, an end is refused for its value. */
const MOST_REFUSALS = 5;
/** After this many refusals in a row the cause is not the ends: the rest is not tried now. */
const MOST_IN_A_ROW = 3;

/** Whether PostgreSQL refused the statement. A lost or unopened session says nothing about the ends. */
export function isRefusal(error: unknown): boolean {
  return !(error instanceof PosthasteError) && !isRepeatable(error);
}

/** Each of them is written or waits when this resolves. Rejects when the session is lost. */
export async function settleOneByOne(asked: SettleOneByOne): Promise<void> {
  const { batch } = asked;
  let refusedInARow = 0;
  for (const [nth, end] of batch.entries()) {
    if (refusedInARow >= MOST_IN_A_ROW) return postpone(asked, batch.slice(nth));
    refusedInARow = (await settleAlone(asked, end)) ? 0 : refusedInARow + 1;
  }
}

/** False: it was refused and waits. */
async function settleAlone(asked: SettleOneByOne, end: EndedTask): Promise<boolean> {
  try {
    await asked.write(end);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (!(await dealWithRefusal(asked, end, error))) return false;
  }
  asked.ends.written([end]);
  return true;
}

/** The untried rest of the batch: written again later, refusals not counted. */
function postpone({ ends }: SettleOneByOne, rest: readonly EndedTask[]): void {
  for (const end of rest) ends.postpone(end, performance.now());
}

/** True if the task has ended, one way or the other. */
async function dealWithRefusal(
  asked: SettleOneByOne,
  end: EndedTask,
  refusal: unknown,
): Promise<boolean> {
  const kind = errorKind(refusal);
  if (kind === "duplicate" && (await dropIfEnded(asked, end))) return true;
  const isValue = kind === "value" || kind === "unknown";
  const count = isValue ? 0 : keep(asked, end, refusal);
  const isBlamed = kind === "trouble" && hasValue(end) && count >= MOST_REFUSALS;
  return (isValue || isBlamed) && failForValue(asked, end, refusal);
}

/** A release has no value that PostgreSQL could refuse. */
function hasValue({ edge }: EndedTask): boolean {
  return edge === "succeed" || edge === "fail" || edge === "retry";
}

/** Returns how often it was refused alone while other ends were written. */
function keep({ services, ends }: SettleOneByOne, end: EndedTask, refusal: unknown): number {
  const { log } = services;
  const { isFirst, count } = ends.refuse(end, performance.now());
  const facts = { task: end.id, name: end.name, code: errorCode(refusal), error: String(refusal) };
  if (!isFirst)
    log.debug(
      facts,
      "PostgreSQL refused the result of the task again; keeping it in memory and retrying",
    );
  else if (errorKind(refusal) === "setup")
    log.error(
      facts,
      "task result refused for a missing right or table, kept in memory; apply what `posthaste migrate` and `posthaste roles` print",
    );
  else
    log.warn(facts, "PostgreSQL refused the result of the task; keeping it in memory and retrying");
  return count;
}

/** PostgreSQL refuses the value (too large, too deep): the task fails with WORKER_SERIALIZATION_ERROR. */
async function failForValue(
  asked: SettleOneByOne,
  end: EndedTask,
  refusal: unknown,
): Promise<boolean> {
  const { result: _, ...rest } = end;
  const code: ResultCode = "WORKER_SERIALIZATION_ERROR";
  const reason = refusal instanceof Error ? refusal.message : String(refusal);
  const error = JSON.stringify({ code, message: `PostgreSQL refused the result: ${reason}` });
  try {
    await asked.write({ ...rest, edge: "fail", code, error });
  } catch (second) {
    if (!isRefusal(second)) throw second;
    keep(asked, end, second);
    return false;
  }
  asked.services.log.warn(
    { task: end.id, name: end.name, error: reason },
    "PostgreSQL cannot store the result of the task; the task failed",
  );
  return true;
}

/** True if the task has ended already: the stored end stays, and the leftover claim is deleted. */
async function dropIfEnded(
  { services, connection }: SettleOneByOne,
  end: EndedTask,
): Promise<boolean> {
  const { store } = services.database;
  const status = await store.dropEndedClaim(await connection(), end);
  if (status === undefined) return false;
  services.log.warn(
    { task: end.id, name: end.name, claimId: end.claimId, status },
    "task had already ended; its stored result stays and this result is dropped",
  );
  return true;
}
