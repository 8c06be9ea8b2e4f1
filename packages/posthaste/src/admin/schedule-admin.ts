/** Calls for operators about schedules. */
import { isSchedule, type Schedule } from "../define/schedule.ts";
import { PosthasteError } from "../domain/errors.ts";
import type { Json } from "../domain/json.ts";
import { article } from "../domain/names.ts";
import { wholeNumberProblem } from "../domain/option-reader.ts";
import { describePattern } from "../domain/schedules/patterns.ts";
import type { Targets } from "../scheduler/compose-firing.ts";
import { firingRules } from "../scheduler/firing-rules.ts";
import {
  deleteSchedule,
  pauseSchedule,
  resumeSchedule,
  triggerSchedule,
  upcomingSlots,
  type TriggeredFiring,
} from "../scheduler/steer-schedules.ts";
import { storeSchedules, type StoringParts } from "../scheduler/store-definitions.ts";
import type { ScheduleRow } from "../store/queries/schedule/schedule-rows.ts";
import type { Config } from "../config/config.ts";
import type { OperatorRecord } from "./operator-record.ts";

export type { TriggeredFiring } from "../scheduler/steer-schedules.ts";

export interface ScheduleInfo {
  readonly name: string;
  /** code: an app has it in its `schedules`. database: it was made by `upsert`. */
  readonly owner: "code" | "database";
  /** One of both is null. */
  readonly task: string | null;
  readonly workflow: string | null;
  readonly input: Json;
  /** In words: `daily at 02:30`. */
  readonly pattern: string;
  readonly timezone: string;
  readonly missed: string;
  readonly maxMissed: number;
  readonly overlap: string;
  readonly jitterMs: number;
  readonly startAt: Date | null;
  readonly endAt: Date | null;
  readonly createdAt: Date;
  /** The slot that fires next; null: there is none any more. */
  readonly nextSlot: Date | null;
  /** A slot that waits until the last task or run has ended. */
  readonly bufferedSlot: Date | null;
  readonly pausedAt: Date | null;
  /** code: it was defined as paused. failures: it could not fire ten times in a row. */
  readonly pausedBy: "code" | "operator" | "failures" | null;
  readonly failures: number;
  readonly lastError: string | null;
  /** The last slot that fired. */
  readonly lastSlot: Date | null;
  readonly lastFiredAt: Date | null;
  readonly lastTaskId: string | null;
  readonly lastRunId: string | null;
  /** It is in the code of no living process, so it does not fire. */
  readonly orphaned: boolean;
}

export interface ScheduleAdmin {
  readonly schedules: {
    /** By name. */
    list(): Promise<readonly ScheduleInfo[]>;
    /** Stores schedules from `defineSchedule` at run time. Refuses names that code has. */
    upsert(...schedules: readonly [Schedule, ...Schedule[]]): Promise<void>;
    /** Deletes a schedule of the database, or an orphaned one of code, and its history. */
    delete(name: string): Promise<void>;
    /** From now on it does not fire, over restarts and deployments. False: it was paused already. */
    pause(name: string): Promise<boolean>;
    /** It goes on with its next slot. False: it was not paused. */
    resume(name: string): Promise<boolean>;
    /** Fires it now, beside its pattern, also while it is paused. */
    trigger(name: string): Promise<TriggeredFiring>;
    /** Its next slots, 1–1,000, by default 1. */
    next(name: string, count?: number): Promise<readonly Date[]>;
  };
}

export interface ScheduleAdminParts extends StoringParts {
  readonly config: Config;
  readonly targets: Targets;
  readonly record: OperatorRecord;
}

export function makeScheduleAdmin(parts: ScheduleAdminParts): ScheduleAdmin {
  const { database, sender, record } = parts;
  const steer = async <Answer>(
    action: string,
    target: string,
    run: () => Promise<Answer>,
  ): Promise<Answer> => {
    const { answer } = await record.run({ action, target }, async () => {
      const steered = await run();
      return { answer: steered, changed: steered === false ? 0 : 1 };
    });
    return answer;
  };
  const upsert = async (schedules: readonly Schedule[]): Promise<void> => {
    const names = schedules.map(({ name }) => name);
    const [only] = names;
    const what =
      only !== undefined && names.length === 1 ? { target: only } : { filter: { names } };
    await record.run({ action: "upsert schedules", ...what }, async () => {
      await storeSchedules(parts, "database", schedules);
      return { answer: undefined, changed: names.length };
    });
  };
  return {
    schedules: {
      async list() {
        await database.ensureSchema();
        return (await database.store.readSchedules.list(database.reads)).map(infoOf);
      },
      async upsert(...schedules) {
        requireSchedules(schedules);
        await upsert(schedules);
      },
      delete: async (name) => steer("delete schedule", name, () => deleteSchedule(database, name)),
      pause: async (name) => steer("pause schedule", name, () => pauseSchedule(database, name)),
      resume: async (name) => steer("resume schedule", name, () => resumeSchedule(database, name)),
      trigger: async (name) =>
        steer("trigger schedule", name, () =>
          triggerSchedule({ ...parts, onSent: (tasks) => sender.stored(tasks) }, name),
        ),
      async next(name, count = 1) {
        const problem = wholeNumberProblem(count, { min: 1, max: 1_000 });
        if (problem !== undefined)
          throw PosthasteError.of("VALIDATION_FAILED", "no slots were computed", [
            { path: "count", message: problem },
          ]);
        return upcomingSlots(database, name, count);
      },
    },
  };
}

function requireSchedules(given: readonly unknown[]): void {
  const problems = given.flatMap((schedule, index) =>
    isSchedule(schedule)
      ? []
      : [
          {
            path: `schedules[${index}]`,
            message: `expected a schedule from defineSchedule(), found ${article(schedule)}`,
          },
        ],
  );
  if (problems.length > 0 || given.length === 0)
    throw PosthasteError.of("VALIDATION_FAILED", "no schedule was stored", problems);
}

function infoOf(row: ScheduleRow): ScheduleInfo {
  const rules = firingRules(row);
  return {
    name: row.name,
    owner: row.owner,
    task: row.task,
    workflow: row.workflow,
    input: JSON.parse(row.input) as Json,
    // As it is stored, where a newer library has written it.
    pattern: rules === undefined ? row.pattern : describePattern(rules.pattern),
    timezone: row.timezone,
    missed: row.missed,
    maxMissed: row.maxMissed,
    overlap: row.overlap,
    jitterMs: row.jitterMs,
    startAt: dateOf(row.startAt),
    endAt: dateOf(row.endAt),
    createdAt: new Date(row.createdAt),
    nextSlot: dateOf(row.nextSlot),
    bufferedSlot: dateOf(row.bufferedSlot),
    pausedAt: dateOf(row.pausedAt),
    pausedBy: row.pausedBy,
    failures: row.failures,
    lastError: row.lastError,
    lastSlot: dateOf(row.lastSlot),
    lastFiredAt: dateOf(row.lastFiredAt),
    lastTaskId: row.lastTaskId,
    lastRunId: row.lastRunId,
    orphaned: row.isOrphaned,
  };
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
