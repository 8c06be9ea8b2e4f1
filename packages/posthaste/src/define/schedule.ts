/** A defined schedule: an inert value. */
import type { MissedPolicy } from "../domain/schedules/due-slots.ts";
import type { OverlapPolicy } from "../domain/schedules/overlap.ts";
import type { Pattern } from "../domain/schedules/patterns.ts";
import type { AnyContract } from "./task.ts";
import type { AnyWorkflow } from "./workflow.ts";

/** Registered, not local: a schedule stays one when two copies of this package are loaded. */
export const scheduleBrand: unique symbol = Symbol.for("posthaste.schedule");

/** Made by `defineSchedule`. */
export interface Schedule {
  readonly [scheduleBrand]: true;
  readonly name: string;
  readonly target: { readonly task: AnyContract } | { readonly workflow: AnyWorkflow };
  readonly input: unknown;
  readonly pattern: Pattern;
  readonly timezone: string;
  readonly missed: MissedPolicy;
  readonly maxMissed: number;
  readonly overlap: OverlapPolicy;
  readonly jitterMs: number;
  readonly startAt: Date | undefined;
  readonly endAt: Date | undefined;
  readonly paused: boolean;
}

/** Whether a value was made by `defineSchedule`. */
export function isSchedule(value: unknown): value is Schedule {
  return typeof value === "object" && value !== null && Reflect.get(value, scheduleBrand) === true;
}
