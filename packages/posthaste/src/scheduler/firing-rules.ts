/** From a stored schedule to the rules by which it fires. */
import {
  missedPolicies,
  type FiringRules,
  type MissedPolicy,
} from "../domain/schedules/due-slots.ts";
import { overlapPolicies, type OverlapPolicy } from "../domain/schedules/overlap.ts";
import { readStoredPattern } from "../domain/schedules/read-pattern.ts";
import type { ScheduleDefinition } from "../store/queries/schedule/schedule-rows.ts";

export interface StoredRules extends FiringRules {
  readonly overlap: OverlapPolicy;
}

/** Undefined: the row has a pattern, a time zone or a policy that this library does not know. A newer one may, so the row is left to it. */
export function firingRules(row: ScheduleDefinition): StoredRules | undefined {
  const { name, timezone, jitterMs, maxMissed, startAt, endAt } = row;
  const pattern = readStoredPattern(JSON.parse(row.pattern), timezone);
  const missed = missedPolicies.find((policy): policy is MissedPolicy => policy === row.missed);
  const overlap = overlapPolicies.find((policy): policy is OverlapPolicy => policy === row.overlap);
  if (pattern === undefined || missed === undefined || overlap === undefined) return undefined;
  return { name, pattern, timezone, startAt, endAt, jitterMs, missed, maxMissed, overlap };
}
