/** Pauses, resumes, triggers and deletes schedules for operators. Each is one transaction that locks its row. */
import type { Database } from "../database/database.ts";
import { repeatSafely } from "../database/repeat-safely.ts";
import { PosthasteError } from "../domain/errors.ts";
import { quoted } from "../domain/names.ts";
import { nearestName } from "../domain/nearest-name.ts";
import { dueAt } from "../domain/schedules/due-slots.ts";
import { nextSlot, nextSlots } from "../domain/schedules/next-slot.ts";
import type { OutgoingTask } from "../sending/compose-task.ts";
import type { Connection } from "../store/connection.ts";
import type { ScheduleRow } from "../store/queries/schedule/schedule-rows.ts";
import { inOneTransaction } from "../store/transaction.ts";
import { sendNotifications } from "../workflows/move-nodes.ts";
import { composeFiring, idsOf, type Composer, type Outgoing } from "./compose-firing.ts";
import { sendTasks, startRuns } from "./fire-schedules.ts";
import { firingRules, type StoredRules } from "./firing-rules.ts";
import { notifySchedulers } from "./store-definitions.ts";

/** A firing by hand. One of the ids is null. */
export interface TriggeredFiring {
  readonly slot: Date;
  readonly taskId: string | null;
  readonly runId: string | null;
}

export interface TriggerParts extends Composer {
  readonly database: Database;
  /** Tasks were sent, and that is committed. */
  readonly onSent: (tasks: readonly OutgoingTask[]) => void;
}

/** False: it was paused already. */
export async function pauseSchedule(database: Database, name: string): Promise<boolean> {
  let isTried = false;
  const isChanged = await change(database, name, async (row, session) => {
    // The answer to an earlier try was lost: it has paused it.
    if (row.pausedAt !== null) return isTried;
    isTried = true;
    const paused = { pausedAt: row.now, pausedBy: "operator" } as const;
    await database.store.writeFirings.move(session, [
      { ...row, ...paused, readSlot: row.nextSlot },
    ]);
    return true;
  });
  if (isChanged) await notifySchedulers(database);
  return isChanged;
}

/** It goes on with its next slot: those that passed meanwhile are forgotten. False: it was not paused. */
export async function resumeSchedule(database: Database, name: string): Promise<boolean> {
  let isTried = false;
  const isChanged = await change(database, name, async (row, session) => {
    if (row.pausedAt === null) return isTried;
    isTried = true;
    const rules = requireRules(row);
    const slot = nextSlot(rules, Math.max(row.now, row.lastSlot ?? 0)) ?? null;
    const resumed = {
      nextSlot: slot,
      dueAt: slot === null ? null : dueAt(rules, slot),
      bufferedSlot: null,
      pausedAt: null,
      pausedBy: null,
      failures: 0,
      lastError: null,
    };
    await database.store.writeFirings.move(session, [
      { ...row, ...resumed, readSlot: row.nextSlot },
    ]);
    return true;
  });
  if (isChanged) await notifySchedulers(database);
  return isChanged;
}

/** Fires now, beside the pattern: also while it is paused, and whatever its last task does. */
export async function triggerSchedule(parts: TriggerParts, name: string): Promise<TriggeredFiring> {
  const { database, onSent } = parts;
  let outgoing: Outgoing | undefined;
  const fired = await change(database, name, async (row, session) => {
    outgoing ??= await composeFiring(parts, row);
    const ids = idsOf(outgoing);
    const isOwn = row.lastTaskId === ids.taskId && row.lastRunId === ids.runId;
    // The answer to an earlier try was lost: it has fired.
    if (isOwn && row.lastSlot !== null) return { slot: new Date(row.lastSlot), ...ids, ended: [] };
    const { writeFirings } = database.store;
    const slot = await writeTriggered(database, session, row, ids);
    const last = { lastSlot: slot, lastFiredAt: row.now };
    const lastIds = { lastTaskId: ids.taskId, lastRunId: ids.runId };
    await writeFirings.move(session, [{ ...row, ...last, ...lastIds, readSlot: row.nextSlot }]);
    if ("task" in outgoing) await sendTasks(database, session, [outgoing.task]);
    const ended = "run" in outgoing ? await startRuns(parts, session, [outgoing.run]) : [];
    return { slot: new Date(slot), ...ids, ended };
  });
  const { ended, ...firing } = fired;
  if (outgoing !== undefined && "task" in outgoing) onSent([outgoing.task]);
  if (ended.length > 0)
    await sendNotifications(database.reads, database.store, { woken: [], ended });
  return firing;
}

/** With its firings. A schedule that living code lists would come back at the next start: it is refused. */
export async function deleteSchedule(database: Database, name: string): Promise<void> {
  let isTried = false;
  try {
    await change(database, name, async (row, session) => {
      if (row.owner === "code" && !row.isOrphaned) {
        const message = `"${name}" is in the code of a living app: remove it there, or pause it`;
        throw PosthasteError.of("VALIDATION_FAILED", "nothing was deleted", [
          { path: "name", message },
        ]);
      }
      isTried = true;
      await database.store.readSchedules.remove(session, name);
    });
  } catch (error) {
    const isGone = error instanceof PosthasteError && error.code === "SCHEDULE_NOT_FOUND";
    // The answer to an earlier try was lost: it has deleted it.
    if (!isTried || !isGone) throw error;
  }
}

/** The next slots, the stored one first. Of a paused schedule those that follow if it is resumed now. */
export async function upcomingSlots(
  database: Database,
  name: string,
  count: number,
): Promise<Date[]> {
  const row = await repeatSafely(async () => {
    await database.ensureSchema();
    return database.store.readSchedules.get(database.reads, name);
  });
  if (row === undefined) throw await notFound(database, name);
  const rules = requireRules(row);
  const { nextSlot: first, pausedAt, now } = row;
  const slots =
    pausedAt !== null
      ? nextSlots(rules, now, count)
      : first === null
        ? []
        : [first, ...nextSlots(rules, first, count - 1)];
  return slots.map((slot) => new Date(slot));
}

/** On a session of its own, because a transaction has it alone. */
function change<Answer>(
  database: Database,
  name: string,
  run: (row: ScheduleRow, session: Connection) => Promise<Answer>,
): Promise<Answer> {
  return repeatSafely(async () => {
    await database.ensureSchema();
    return database.withFreshSession((session) =>
      inOneTransaction(session, async () => {
        const row = await database.store.lockSchedules.one(session, name);
        if (row === undefined) throw await notFound(database, name);
        return run(row, session);
      }),
    );
  });
}

/** At the first moment from now on that is no slot of the pattern to come, and that no firing has. */
async function writeTriggered(
  { store }: Database,
  session: Connection,
  row: ScheduleRow,
  ids: { readonly taskId: string | null; readonly runId: string | null },
): Promise<number> {
  const { name, now, lastSlot, nextSlot: upcoming, bufferedSlot } = row;
  const plain = { schedule: name, ...ids, skipped: null, firstSlot: null, triggered: true };
  for (let slot = Math.max(now, (lastSlot ?? 0) + 1); ; slot++) {
    if (slot === upcoming || slot === bufferedSlot) continue;
    const written = await store.writeFirings.insert(session, null, [{ ...plain, slot }]);
    if (written.size > 0) return slot;
  }
}

function requireRules(row: ScheduleRow): StoredRules {
  const rules = firingRules(row);
  if (rules !== undefined) return rules;
  const message = `expected a pattern and policies that this version knows, found ${row.pattern} in ${row.timezone}`;
  throw PosthasteError.of("VALIDATION_FAILED", `schedule "${row.name}" cannot be read`, [
    { path: "pattern", message },
  ]);
}

async function notFound({ store, reads }: Database, name: string): Promise<PosthasteError> {
  const known = (await store.readSchedules.list(reads)).map((row) => row.name);
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
  return new PosthasteError("SCHEDULE_NOT_FOUND", `there is no schedule ${quoted(name)}${hint}`);
}
