/** Stores schedules: those of the code at every start, others on request. */
import { repeatSafely } from "../database/repeat-safely.ts";
import type { Database } from "../database/database.ts";
import type { Schedule } from "../define/schedule.ts";
import { PosthasteError } from "../domain/errors.ts";
import { dueAt } from "../domain/schedules/due-slots.ts";
import { nextSlot } from "../domain/schedules/next-slot.ts";
import type { Sender } from "../sending/sender.ts";
import { schedulesChannel } from "../store/channels.ts";
import type { ScheduleDefinition } from "../store/queries/schedule/schedule-rows.ts";
import type { NewSchedule } from "../store/queries/schedule/store-schedules.ts";
import type { Starter } from "../workflows/starter.ts";
import { submissionText } from "./compose-firing.ts";

export interface StoringParts {
  readonly database: Database;
  readonly sender: Sender;
  readonly starter: Starter;
}

/** A new schedule, or one with a new pattern, begins at its next slot. Throws VALIDATION_FAILED for inputs and names that are refused. */
export async function storeSchedules(
  parts: StoringParts,
  owner: "code" | "database",
  schedules: readonly Schedule[],
): Promise<void> {
  if (schedules.length === 0) return;
  const { database } = parts;
  const { store, reads } = database;
  await repeatSafely(async () => {
    const now = await store.storeSchedules.clock(reads);
    const rows = await Promise.all(schedules.map((schedule) => newSchedule(parts, schedule, now)));
    const taken = await store.storeSchedules.store(reads, owner, rows);
    if (taken.length > 0) throw nameTaken(owner, taken);
  });
  await notifySchedulers(database);
}

/** Schedulers that miss it look every half minute. */
export async function notifySchedulers({ store, reads }: Database): Promise<void> {
  const wake = new Map([[schedulesChannel(store.schema), ""]]);
  await store.notifyQueues.alone(reads, wake).catch(() => undefined); // see above
}

/** The row of a schedule that begins after this moment. */
export async function newSchedule(
  parts: Pick<StoringParts, "sender" | "starter">,
  schedule: Schedule,
  now: number,
): Promise<NewSchedule> {
  const definition = await readDefinition(parts, schedule);
  const slot = nextSlot({ ...definition, pattern: schedule.pattern }, now) ?? null;
  const due = slot === null ? null : dueAt(schedule, slot);
  return { ...definition, nextSlot: slot, dueAt: due, paused: schedule.paused };
}

async function readDefinition(
  { sender, starter }: Pick<StoringParts, "sender" | "starter">,
  schedule: Schedule,
): Promise<ScheduleDefinition> {
  const { target, input, startAt, endAt } = schedule;
  const plain = {
    name: schedule.name,
    pattern: JSON.stringify(schedule.pattern),
    timezone: schedule.timezone,
    missed: schedule.missed,
    maxMissed: schedule.maxMissed,
    overlap: schedule.overlap,
    jitterMs: schedule.jitterMs,
    startAt: startAt?.getTime() ?? null,
    endAt: endAt?.getTime() ?? null,
  };
  try {
    if ("task" in target) {
      const sent = await sender.compose(target.task, input, undefined);
      const submission = submissionText(sent);
      const sending = { task: sent.name, workflow: null, submission, graphId: null };
      return { ...plain, ...sending, input: sent.input };
    }
    const run = await starter.prepare(target.workflow, input);
    const starting = { task: null, workflow: target.workflow.name, submission: null };
    return { ...plain, ...starting, ...run };
  } catch (error) {
    if (!(error instanceof PosthasteError) || error.problems.length === 0) throw error;
    const what = `schedule "${schedule.name}" was not stored`;
    throw PosthasteError.of(error.code, what, error.problems);
  }
}

function nameTaken(owner: "code" | "database", names: readonly string[]): PosthasteError {
  const other =
    owner === "code"
      ? "belongs to a schedule that was made at run time; delete that with admin.schedules.delete, or choose another name"
      : "belongs to a schedule in the code of an app; choose another name, or change the code";
  const problems = names.map((name) => ({ path: "name", message: `"${name}" ${other}` }));
  return PosthasteError.of("VALIDATION_FAILED", "the name of a schedule is taken", problems);
}
