/** Schedules that do not fire as they should. */
import type { ScheduleRow } from "../store/queries/schedule/schedule-rows.ts";
import type { Finding } from "./finding.ts";

/** A restart of all workers takes less. */
const LATE_MS = 60_000;

export function examineSchedules(schedules: readonly ScheduleRow[]): Finding[] {
  return schedules.flatMap((schedule) => [
    ...orphaned(schedule),
    ...failing(schedule),
    ...late(schedule),
  ]);
}

function orphaned({ name, isOrphaned, pausedAt }: ScheduleRow): Finding[] {
  if (!isOrphaned || pausedAt !== null) return [];
  return [
    {
      code: "SCHEDULE_ORPHANED",
      level: "warning",
      message: `the schedule "${name}" is in the code of no living worker or scheduler, so it does not fire`,
      advice:
        "start a worker that has it in its schedules, or delete it: admin.schedules.delete(name)",
      facts: { schedule: name },
    },
  ];
}

function failing({ name, failures, lastError, pausedBy }: ScheduleRow): Finding[] {
  if (failures === 0) return [];
  const isPaused = pausedBy === "failures";
  return [
    {
      code: "SCHEDULE_FAILING",
      level: "problem",
      message: `the schedule "${name}" could not fire ${failures} times in a row${isPaused ? " and is paused" : ""}: ${lastError ?? ""}`,
      advice: isPaused
        ? `correct its task or input, then: posthaste schedules resume ${JSON.stringify(name)}`
        : "correct its task or input; it is tried again, and paused after ten failures",
      facts: { schedule: name, failures, lastError },
    },
  ];
}

function late({ name, dueAt, now, pausedAt, isOrphaned, failures }: ScheduleRow): Finding[] {
  if (dueAt === null || pausedAt !== null || isOrphaned || failures > 0) return [];
  const lateMs = Math.round(now - dueAt);
  if (lateMs < LATE_MS) return [];
  return [
    {
      code: "SCHEDULE_LATE",
      level: "problem",
      message: `the schedule "${name}" has been due for ${Math.round(lateMs / 1_000)} s, and no scheduler fires it`,
      advice:
        "start a worker whose option scheduler is true, or posthaste scheduler app.ts; a schedule of a newer version waits for it",
      facts: { schedule: name, lateMs },
    },
  ];
}
