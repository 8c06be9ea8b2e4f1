/** Schedules that do not fire. */
import type { ScheduleTrouble } from "../store/queries/doctor/read-schedule-troubles.ts";
import type { Finding } from "./finding.ts";

/** The leader fires at once, others 2 s later. */
const LATE_MS = 60_000;

export function examineSchedules(troubles: readonly ScheduleTrouble[]): Finding[] {
  return troubles.flatMap((trouble): Finding[] => {
    const { name, isOrphaned, lateMs, pausedBy, lastError } = trouble;
    const facts = { schedule: name, lateMs, lastError };
    if (pausedBy === "failures") {
      return [
        {
          code: "SCHEDULE_PAUSED",
          level: "problem",
          message: `the schedule "${name}" was paused because it could not fire: ${lastError ?? "no reason is stored"}`,
          advice: `correct it, then: posthaste schedules resume ${name}`,
          facts,
        },
      ];
    }
    if (isOrphaned) {
      return [
        {
          code: "SCHEDULE_ORPHANED",
          level: "warning",
          message: `the schedule "${name}" is in the code of no living process, so it does not fire`,
          advice: "start a process that has it in its schedules, or delete it",
          facts,
        },
      ];
    }
    if (lateMs === null || lateMs < LATE_MS) return [];
    return [
      {
        code: "SCHEDULE_LATE",
        level: "problem",
        message: `the schedule "${name}" has been due for ${Math.round(lateMs / 1_000)} s and has not fired`,
        advice: "start a worker, or posthaste scheduler app.ts; their logs say why a firing fails",
        facts,
      },
    ];
  });
}
