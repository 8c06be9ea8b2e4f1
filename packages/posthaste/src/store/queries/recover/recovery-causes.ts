import type { RecoveryCause } from "../../../domain/interruption.ts";
import { parameter, sql, uuidArray, type SqlText } from "../../sql.ts";
import type { Claim } from "../claim/stored-claims.ts";

/** Causes that the claims' own worker states. */
export type ClaimsCause = Extract<RecoveryCause, "shutdown" | "worker cut off" | "claim unknown">;

/** Causes that are judged by how long something has lasted. */
export type TimedCause = Exclude<RecoveryCause, "lease expired" | ClaimsCause>;

/** Which tasks are meant. */
export type RecoveryCriteria =
  | {
      readonly cause: TimedCause;
      readonly thresholdMs: number;
      /** The threshold of tasks with one of the flags, set and true, is this many times longer. */
      readonly multiplier: number;
      readonly flags: readonly string[];
      /** Judges at once, even though the server has started or was promoted a moment ago. */
      readonly isForced?: boolean;
    }
  | { readonly cause: "lease expired" }
  | { readonly cause: ClaimsCause; readonly claims: readonly Claim[] };

/** A cause as SQL, about a row of active_tasks called `held`. */
export interface CauseText {
  readonly word: SqlText;
  /** The joined tables. */
  readonly join: SqlText;
  readonly condition: SqlText;
  /** The locked tables, always with SKIP LOCKED: another session that holds the lock is renewing, starting or ending the task. */
  readonly locks: SqlText;
  /** How long it may last for this task; 0 where nothing is measured. */
  readonly thresholdMs: SqlText;
  /** The time of the last heartbeat. */
  readonly lastSignAt: SqlText;
}

/** @param first number of the first of the parameters that `criteriaValues` gives */
export function causeTexts(schema: SqlText, first: number): Record<RecoveryCause, CauseText> {
  const threshold = parameter(first);
  const multiplier = parameter(first + 1);
  const flags = parameter(first + 2);
  const isForced = parameter(first + 3);
  // A flag that is there and false is none.
  const thresholdMs = sql`(${threshold}::float8 * case when exists (
      select from ${schema}.submissions as sent cross join unnest(${flags}::text[]) as flag (name)
       where sent.task_id = held.task_id and sent.flags -> flag.name = 'true'
    ) then ${multiplier}::float8 else 1 end)`;
  const ago = sql`(statement_timestamp() - ${thresholdMs} * interval '1 millisecond')`;
  // No threshold is shorter than the plain one, which is cheap to ask for: nearly all rows go no further.
  const plainAgo = sql`(statement_timestamp() - ${threshold}::float8 * interval '1 millisecond')`;
  const isOld = (instant: SqlText): SqlText =>
    sql`(${instant} < ${plainAgo} and ${instant} < ${ago})`;
  // For one threshold after a start or promotion of the server no worker counts as silent: heartbeats were impossible before.
  const isUp = sql`(${isForced}::boolean or ${isOld(sql`(select ${schema}.up_since())`)})`;
  // The latest of them: a task with old heartbeats may have started a moment ago.
  const claimSign = sql`greatest(held.heartbeat_at, held.started_at, held.claimed_at)`;
  const withOwner = sql`join ${schema}.workers as owner on owner.worker_id = held.worker_id`;
  const plain = {
    join: sql``,
    locks: sql`for update of held skip locked`,
    thresholdMs,
    lastSignAt: claimSign,
  };
  // It waits for a lock: it is the owner that gives them back.
  const named = {
    ...plain,
    condition: sql`held.task_id = any (${threshold}::uuid[]) and held.claim_id = any (${multiplier}::uuid[])`,
    locks: sql`for update of held`,
    thresholdMs: sql`0::float8`,
  };
  return {
    // That verdict was the checker's, and is for good. A worker that the sweeper has found has no lock_missing_since: if
    // it claimed something at that very moment, it is taken from it here.
    "worker crashed": {
      ...plain,
      word: sql`'worker crashed'`,
      join: withOwner,
      condition: sql`owner.state = 'dead' and ${isOld(sql`coalesce(owner.lock_missing_since, owner.died_at)`)}`,
      lastSignAt: sql`owner.last_heartbeat_at`,
    },
    // The worker's row is locked too: a heartbeat that commits at this moment is seen, and then nothing is taken. One
    // that has stopped and still holds something could not give it back.
    "worker silent": {
      ...plain,
      word: sql`'worker silent'`,
      join: withOwner,
      condition: sql`owner.state <> 'dead' and ${isOld(sql`owner.last_heartbeat_at`)} and ${isUp}`,
      locks: sql`for update of held skip locked for share of owner skip locked`,
      lastSignAt: sql`owner.last_heartbeat_at`,
    },
    // Judged by the claim's own signs: a worker that others do not know may be at work.
    "worker unknown": {
      ...plain,
      word: sql`'worker unknown'`,
      condition: sql`not exists (select from ${schema}.workers as owner where owner.worker_id = held.worker_id)
        and ${isOld(claimSign)} and ${isUp}`,
    },
    "claim stale": {
      ...plain,
      word: sql`'claim stale'`,
      condition: sql`held.started_at is null and ${isOld(claimSign)} and ${isUp}`,
    },
    "lease expired": {
      ...plain,
      word: sql`'lease expired'`,
      condition: sql`held.started_at is null and held.claim_expires_at <= statement_timestamp()`,
      thresholdMs: sql`0::float8`,
    },
    "run stale": {
      ...plain,
      word: sql`'run stale'`,
      condition: sql`held.started_at is not null and ${isOld(claimSign)} and ${isUp}`,
    },
    shutdown: { ...named, word: sql`'shutdown'` },
    "worker cut off": { ...named, word: sql`'worker cut off'` },
    "claim unknown": { ...named, word: sql`'claim unknown'` },
  };
}

export function criteriaValues(criteria: RecoveryCriteria): unknown[] {
  if (criteria.cause === "lease expired") return [];
  if ("claims" in criteria) {
    const { claims } = criteria;
    return [uuidArray(claims.map(({ id }) => id)), uuidArray(claims.map(({ claimId }) => claimId))];
  }
  const { cause, thresholdMs, multiplier, flags, isForced = false } = criteria;
  // A verdict that was made is applied whenever it was: its statement has no place for the last value.
  const asked = [thresholdMs, multiplier, flags];
  return cause === "worker crashed" ? asked : [...asked, isForced];
}
