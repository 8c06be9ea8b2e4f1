/**
 * After a batch of ends that PostgreSQL refused: each is tried alone, so that one does not keep the others from being
 * written. What becomes of an end that is refused alone depends on what the SQLSTATE is about (`errorKind`):
 *  - its value: the task fails with WORKER_SERIALIZATION_ERROR
 *  - a row that is stored already: the task has ended, and the claim goes
 *  - anything else: the end is kept in memory and written again later, with growing pauses. Refused five times while other
 *    ends of its kind are written in between, it is refused for its value after all. Missing rights are never its value.
 */
import { PosthasteError, type ResultCode } from "../../domain/errors.ts";
import { isRepeatable } from "../../engine/repeat-safely.ts";
import type { Connection } from "../../store/connection.ts";
import { errorCode, errorKind } from "../../store/pg-errors.ts";
import type { EndedTask } from "../held-tasks.ts";
import type { RunServices } from "../run-services.ts";
import type { EndList } from "./end-list.ts";

export interface SettleOneByOne {
  readonly services: RunServices;
  /** The ends that were refused together. */
  readonly batch: readonly EndedTask[];
  readonly ends: EndList<EndedTask>;
  readonly connection: () => Promise<Connection>;
  /** Writes one of them and does what follows its commit. */
  readonly write: (end: EndedTask) => Promise<void>;
}

/** Refused alone so often while others were written, an end is refused for its value. */
const MOST_REFUSALS = 5;
/** Refused one after the other, with none written between: it is not about them, and the rest is not tried now. */
const MOST_IN_A_ROW = 3;

/** Whether an error is about what was to be written. A session that is lost or cannot be had says nothing about that. */
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

/** They were refused together with ends that are refused alone, too: nothing is known about them. */
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

/** What is only given back says nothing that PostgreSQL could refuse. */
function hasValue({ edge }: EndedTask): boolean {
  return edge === "succeed" || edge === "fail" || edge === "retry";
}

/** Returns how often it has been refused for its own sake. */
function keep({ services, ends }: SettleOneByOne, end: EndedTask, refusal: unknown): number {
  const { log } = services;
  const { isFirst, count } = ends.refuse(end, performance.now());
  const facts = { task: end.id, name: end.name, code: errorCode(refusal), error: String(refusal) };
  if (!isFirst) log.debug(facts, "PostgreSQL refused the end of a task again; it is kept");
  else if (errorKind(refusal) === "setup")
    log.error(
      facts,
      "the end of a task is refused for a missing right or table, and kept in memory until it can be written: apply what `posthaste migrate` and `posthaste roles` print",
    );
  else
    log.warn(
      facts,
      "PostgreSQL refused the end of a task; it is kept in memory and written again later",
    );
  return count;
}

/** Where the value is what PostgreSQL refuses (too large, too deep), the task fails and says so. */
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
    "PostgreSQL refused a task's result; the task failed",
  );
  return true;
}

/** True if the task has ended already: then what is stored stays, and the claim that should not be there any more goes. */
async function dropIfEnded(
  { services, connection }: SettleOneByOne,
  end: EndedTask,
): Promise<boolean> {
  const { store } = services.database;
  const status = await store.dropEndedClaim(await connection(), end);
  if (status === undefined) return false;
  services.log.warn(
    { task: end.id, name: end.name, claimId: end.claimId, status },
    "a task had ended already when its end was to be written; what is stored stays",
  );
  return true;
}
