/** The log lines and hooks of firings, after their commit. */
import type { Logger } from "../domain/logger.ts";
import type { Emitters } from "../hooks/hook-runner.ts";
import { idsOf } from "./compose-firing.ts";
import type { FiringPlan } from "./plan-firing.ts";

export function reportFirings(plans: readonly FiringPlan[], emit: Emitters, log: Logger): void {
  for (const plan of plans) {
    const { row, state, missed, late, error } = plan;
    const schedule = row.name;
    if (error !== undefined) reportFailure(plan, emit, log);
    if (missed !== undefined) {
      const [from, to] = [instant(missed.from), instant(missed.to)];
      log.warn(
        { schedule, from, to, missed: row.missed },
        "slots of a schedule missed; they do not fire",
      );
    }
    for (const { slot, lateMs } of late)
      emit.scheduleLate?.({ name: schedule, slot: new Date(slot), lateMs });
    const [worst] = late;
    if (worst !== undefined) {
      const lateMs = Math.round(worst.lateMs);
      log.warn(
        { schedule, slot: instant(worst.slot), lateMs, slots: late.length },
        "schedule fired late",
      );
    }
    for (const { slot, outgoing } of plan.fired) {
      const { taskId: task, runId: run } = idsOf(outgoing);
      const next = state.nextSlot === null ? null : instant(state.nextSlot);
      log.debug({ schedule, slot: instant(slot), task, run, next }, "schedule fired");
    }
  }
}

function reportFailure({ row, state }: FiringPlan, emit: Emitters, log: Logger): void {
  const { failures, lastError } = state;
  const { name: schedule } = row;
  if (state.pausedAt === null) {
    const retryInMs = (state.dueAt ?? row.now) - row.now;
    return log.warn(
      { schedule, failures, error: lastError, retryInMs },
      "schedule could not fire; retrying",
    );
  }
  emit.schedulePaused?.({ name: row.name, failures, error: lastError ?? "" });
  return log.error(
    { schedule, failures, error: lastError },
    "schedule paused after too many failures; resume it when they are fixed",
  );
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
