/**
 * Fires due schedules. In: the moment, null for the database's clock. One transaction locks their rows, writes a row for each slot, sends
 * tasks and starts runs, and moves the schedules to their next slots. Out: what was fired, for the log and for hooks.
 *
 * The fence is the row of `schedule_firings`: a slot whose row was there already sends nothing.
 */
import { mayPass } from "../database/repeat-safely.ts";
import type { Database } from "../database/database.ts";
import type { OutgoingTask } from "../sending/compose-task.ts";
import { storeFresh } from "../sending/insert-fresh.ts";
import { queueHint } from "../sending/send-tasks.ts";
import { notifyQueuesNow } from "../sending/wake-workers.ts";
import type { Link } from "../store/link.ts";
import type { ScheduleRow, ScheduleState } from "../store/queries/schedule/schedule-rows.ts";
import { firingKey, type FiringRow } from "../store/queries/schedule/write-firings.ts";
import type { NewRun } from "../store/queries/workflow/start-workflows.ts";
import type { OwnDb } from "../store/sql.ts";
import { inOneTransaction } from "../store/transaction.ts";
import { nodeHints, sendNotifications } from "../workflows/move-nodes.ts";
import { composeFiring, idsOf, type Composer, type Outgoing } from "./compose-firing.ts";
import { firingRules } from "./firing-rules.ts";
import { failedPlan, planFiring, type FiringPlan } from "./plan-firing.ts";

export interface FiringParts extends Composer {
  readonly database: Database;
  /** A session for transactions, used by one caller at a time. */
  readonly link: Link;
}

export interface FiringQuestion {
  /** Null: the database's clock. */
  readonly now: number | null;
  /** Due schedules that are late by this much, or those whose buffered slot may fire. */
  readonly which: { readonly lateMs: number } | "buffered";
  /** Schedules that this process cannot fire. */
  readonly except: readonly string[];
}

export interface Firings {
  readonly plans: readonly FiringPlan[];
  /** Tasks that were sent. */
  readonly tasks: readonly OutgoingTask[];
  /** Schedules that this library does not understand. */
  readonly unknown: readonly string[];
  /** There may be more. */
  readonly isFull: boolean;
}

/** Schedules in one transaction: 1,000 that are due together are five commits. */
const BATCH = 200;

export async function fireSchedules(
  parts: FiringParts,
  { now, which, except }: FiringQuestion,
): Promise<Firings> {
  const { lockSchedules } = parts.database.store;
  const question = { now, except, most: BATCH, lateMs: which === "buffered" ? 0 : which.lateMs };
  let locked: readonly ScheduleRow[] = [];
  const lock = async (db: OwnDb): Promise<readonly ScheduleRow[]> =>
    (locked = await (which === "buffered"
      ? lockSchedules.buffered(db, question)
      : lockSchedules.due(db, question)));
  const isFull = (): boolean => locked.length >= BATCH;
  try {
    return { ...(await fireLocked(parts, now, lock)), isFull: isFull() };
  } catch (error) {
    if (mayPass(error) || locked.length === 0) throw error;
    // PostgreSQL refuses one of them: each is fired alone, so that it fails alone.
    const alone: Omit<Firings, "isFull">[] = [];
    for (const { name } of locked) alone.push(await fireAlone(parts, now, name));
    return {
      plans: alone.flatMap(({ plans }) => plans),
      tasks: alone.flatMap(({ tasks }) => tasks),
      unknown: alone.flatMap(({ unknown }) => unknown),
      isFull: isFull(),
    };
  }
}

async function fireAlone(
  parts: FiringParts,
  now: number | null,
  name: string,
): Promise<Omit<Firings, "isFull">> {
  const { store } = parts.database;
  const lock = async (db: OwnDb): Promise<readonly ScheduleRow[]> => {
    const row = await store.lockSchedules.one(db, name, now);
    return row === undefined || row.pausedAt !== null || row.isOrphaned ? [] : [row];
  };
  try {
    return await fireLocked(parts, now, lock);
  } catch (error) {
    if (mayPass(error)) throw error;
    const connection = await parts.link.connection();
    const plans = await inOneTransaction(connection, async () => {
      const failed = (await lock(connection)).map((row) => failedPlan(row, error));
      await store.writeFirings.move(connection, failed.map(moveOf));
      return failed;
    });
    return { plans, tasks: [], unknown: [] };
  }
}

async function fireLocked(
  parts: FiringParts,
  now: number | null,
  lock: (db: OwnDb) => Promise<readonly ScheduleRow[]>,
): Promise<Omit<Firings, "isFull">> {
  const { store } = parts.database;
  const connection = await parts.link.connection();
  const fired = await inOneTransaction(connection, async () => {
    const rows = await lock(connection);
    const { plans, unknown } = await planAll(parts, connection, rows);
    if (plans.length === 0) return { plans, unknown, tasks: [], ended: [] };
    const written = await writeRows(parts, connection, { plans, now });
    const { tasks, runs } = outgoingOf(written);
    const moved = store.writeFirings.move(connection, written.map(moveOf));
    await Promise.all([moved, sendTasks(parts.database, connection, tasks)]);
    return { plans: written, unknown, tasks, ended: await startRuns(parts, connection, runs) };
  });
  if (fired.ended.length > 0)
    await sendNotifications(connection, store, { woken: [], ended: fired.ended });
  return fired;
}

async function planAll(
  parts: FiringParts,
  db: OwnDb,
  rows: readonly ScheduleRow[],
): Promise<{ readonly plans: FiringPlan[]; readonly unknown: string[] }> {
  const asked = rows.filter((row) => row.overlap !== "allow" && hasLast(row));
  const busy =
    asked.length === 0
      ? []
      : await parts.database.store.lockSchedules.busy(
          db,
          asked.map(({ name }) => name),
        );
  const busyNames = new Set(busy.map(({ name }) => name));
  const plans: FiringPlan[] = [];
  const unknown: string[] = [];
  for (const row of rows) {
    const rules = firingRules(row);
    if (rules === undefined) {
      unknown.push(row.name);
      continue;
    }
    const compose = (): Promise<Outgoing> => composeFiring(parts, row);
    plans.push(await planFiring(row, { rules, isBusy: busyNames.has(row.name), compose }));
  }
  return { plans, unknown };
}

function hasLast({ lastTaskId, lastRunId }: ScheduleRow): boolean {
  return lastTaskId !== null || lastRunId !== null;
}

/** Writes the rows of all slots, and takes from the plans those whose row was there. */
async function writeRows(
  { database }: FiringParts,
  db: OwnDb,
  { plans, now }: { readonly plans: readonly FiringPlan[]; readonly now: number | null },
): Promise<FiringPlan[]> {
  const rows = plans.flatMap((plan) => [...plan.skipped, ...plan.fired.map(firingRow(plan))]);
  if (rows.length === 0) return [...plans];
  const written = await database.store.writeFirings.insert(db, now, rows);
  return plans.map((plan) => ({
    ...plan,
    fired: plan.fired.filter(({ slot }) =>
      written.has(firingKey({ schedule: plan.row.name, slot })),
    ),
  }));
}

function firingRow({ row }: FiringPlan): (fired: FiringPlan["fired"][number]) => FiringRow {
  return ({ slot, outgoing }) => ({
    schedule: row.name,
    slot,
    ...idsOf(outgoing),
    skipped: null,
    firstSlot: null,
    triggered: false,
  });
}

function moveOf({ row, state, fired }: FiringPlan) {
  const last = fired.at(-1);
  const lastFiring: Partial<ScheduleState> =
    last === undefined
      ? {}
      : {
          lastSlot: last.slot,
          lastFiredAt: row.now,
          lastTaskId: idsOf(last.outgoing).taskId,
          lastRunId: idsOf(last.outgoing).runId,
        };
  return { ...state, ...lastFiring, name: row.name, readSlot: row.nextSlot };
}

function outgoingOf(plans: readonly FiringPlan[]) {
  const outgoing = plans.flatMap(({ fired }) => fired.map((each) => each.outgoing));
  return {
    tasks: outgoing.flatMap((each) => ("task" in each ? [each.task] : [])),
    runs: outgoing.flatMap((each) => ("run" in each ? [each.run] : [])),
  };
}

/** As any other send; the notification is delivered with the commit. */
export async function sendTasks(
  database: Database,
  db: OwnDb,
  tasks: readonly OutgoingTask[],
): Promise<void> {
  if (tasks.length === 0) return;
  await storeFresh(database, db, tasks);
  await notifyQueuesNow(db, database.store, tasks.map(queueHint));
}

/** Returns runs that have ended already: they have only gates. */
export async function startRuns(
  { database: { store }, starter }: Pick<FiringParts, "database" | "starter">,
  db: OwnDb,
  runs: readonly NewRun[],
): Promise<readonly string[]> {
  if (runs.length === 0) return [];
  const { started, notifications } = await store.startWorkflows.start(db, runs);
  if (started.length !== runs.length) {
    starter.forgetGraphs();
    throw new Error("the graph of a workflow is not stored any more");
  }
  await notifyQueuesNow(db, store, nodeHints(notifications));
  return notifications.ended;
}
