/** Chooses the ready rows of a claim: the first due rows, or the first that every rule allows. */
import { sql, type Parameters, type SqlText } from "../../sql.ts";

/** The rules of a claim, besides the order. */
export interface ClaimRules {
  /** The most tasks of a queue that may be under way in the whole cluster, by queue. */
  readonly queueCaps: ReadonlyMap<string, number>;
  /** The most tasks that may be under way in the whole cluster. */
  readonly clusterWideCap: number | null;
  /** The most tasks that one claim takes of one queue; 0: as many as fit. */
  readonly maxClaimBatch: number;
  /** Whether CLAIMED tasks do not count for caps: with prefetching, caps count running tasks. */
  readonly isSoft: boolean;
  /** Tasks of these names are left for workers that know them. Null: every name is taken. */
  readonly unknownNames: readonly string[] | null;
}

export const noRules: ClaimRules = {
  queueCaps: new Map(),
  clusterWideCap: null,
  maxClaimBatch: 0,
  isSoft: false,
  unknownNames: null,
};

/** Whether a queue is not paused. Served by the primary key of queues. */
export function isQueueOpen(schema: SqlText, queue: SqlText): SqlText {
  return sql`(select known.paused_at from ${schema}.queues as known where known.queue = ${queue}) is null`;
}

/**
 * Takes rows in order and skips rows that another transaction has locked. The ctid array keeps the DELETE a TID scan; joined to a
 * sub-select that locks it was a hash join over the whole table (20 ms for 500 rows). It is safe because ready rows are
 * never updated.
 */
export function takeReady(schema: SqlText, limit: SqlText, isRanked: boolean): SqlText {
  const pick = isRanked ? pickRanked(schema) : pickPlain(schema, limit);
  return sql`delete from ${schema}.ready_tasks where ctid = any (array(${pick})) returning *`;
}

/**
 * The ctids of the first due rows, lane after lane. Served by ready_tasks_claim_idx, one descent a lane. No outer
 * ORDER BY: a sort would look at limit × lanes rows.
 */
function pickPlain(schema: SqlText, limit: SqlText): SqlText {
  return sql`
    select due.ctid
      from lane
     cross join lateral (
       select ready.ctid
         from ${schema}.ready_tasks as ready
        where ready.queue = lane.queue and ready.priority = lane.priority
          and ready.enqueued_at >= lane.mark and ready.enqueued_at <= statement_timestamp()
        order by ready.enqueued_at, ready.task_id
        limit ${limit}
        for update skip locked
     ) as due
     limit ${limit}`;
}

/** The parameters that only a claim with rules has. */
export const rankParameters = [
  "places",
  "queuesOfCaps",
  "caps",
  "maxOfQueue",
  "clusterCap",
  /** Whether the tasks under way are counted, and the claimed tasks with them. */
  "isCounted",
  "isSoft",
  "unknownNames",
  /** How many rows are read of each lane. */
  "most",
] as const;
type RankParameter = (typeof rankParameters)[number];

/**
 * Steps for a claim with rules, or over queues of the same rank, whose lanes are merged by time. Candidates are read
 * without locks, ranked, and then locked one by one in that order until there are enough. Locked rows are skipped, so a few more
 * candidates are read than needed.
 *
 * With many lanes of the same rank, only a part of each is read (`most`). If a lane has more, candidates later than its last row are beyond
 * the horizon, because the lane may have an older row. They are left for the next claim, which follows at once.
 *
 * `load` counts the tasks under way that were claimed under a cap. The locks of lock-caps.ts come first, in a statement of their own, so
 * that the count is exact: a snapshot older than the wait for a lock let three run under a cap of one.
 */
export function rankedSteps(schema: SqlText, at: Parameters<"limit" | RankParameter>): SqlText {
  const [queues, caps, unknownNames, most] = [
    at("queuesOfCaps"),
    at("caps"),
    at("unknownNames"),
    at("most"),
  ];
  return sql`
    load as materialized (
      select busy.queue, busy.held
        from (select where ${at("isCounted")}::boolean) as counted
       cross join lateral ${schema}.queue_load(not ${at("isSoft")}::boolean) as busy
    ), room as materialized (
      select given.queue, least(${at("maxOfQueue")}::int, given.cap - coalesce(load.held, 0)) as free
        from unnest(${queues}::text[], ${caps}::int[]) as given (queue, cap)
        left join load on load.queue = given.queue
    ), total as materialized (
      select least(${at("limit")}::int, greatest(0, ${at("clusterCap")}::int - (select coalesce(sum(held), 0) from load)::int)) as most
    ), candidate as materialized (
      select lane.place, lane.queue, lane.n, due.id, due.at, due.task_id, room.free,
             (${most}::int[])[lane.n] as most
        from lane
        join room on room.queue = lane.queue
       cross join lateral (
         select ready.ctid as id, ready.enqueued_at as at, ready.task_id
           from ${schema}.ready_tasks as ready
          where ready.queue = lane.queue and ready.priority = lane.priority
            and ready.enqueued_at >= lane.mark and ready.enqueued_at <= statement_timestamp()
            and (${unknownNames}::text[] is null or ((
              select sent.name from ${schema}.submissions as sent where sent.task_id = ready.task_id
            ) = any (${unknownNames}::text[])) is not true)
          order by ready.enqueued_at, ready.task_id
          limit case when room.free <= 0 then 1 else least((${most}::int[])[lane.n], room.free + ${SPARE}) end
       ) as due
    ), horizon as materialized (
      select place, at, task_id
        from (
          select place, at, task_id, most, free, count(*) over lane_of as found,
                 row_number() over (lane_of order by at desc, task_id desc) as from_last
            from candidate
          window lane_of as (partition by n)
        ) as read
       where from_last = 1 and found >= most and free > 0
       order by place, at, task_id
       limit 1
    ), ranked as materialized (
      select id, place, at, task_id, free,
             row_number() over (partition by queue order by place, at, task_id) as nth
        from candidate
       where (place, at, task_id) <= (select place, at, task_id from horizon)
          or not exists (select from horizon)
    )`;
}

/** Whether a row's queue has no cap. */
export function isUncapped(at: Parameters<RankParameter>, queue: SqlText): SqlText {
  return sql`(${at("caps")}::int[])[array_position(${at("queuesOfCaps")}::text[], ${queue})] = ${UNLIMITED_CAP}`;
}

function pickRanked(schema: SqlText): SqlText {
  return sql`
    select held.ctid
      from (select id from ranked where nth <= free order by place, at, task_id) as next
     cross join lateral (
       select ready.ctid from ${schema}.ready_tasks as ready where ready.ctid = next.id for update skip locked
     ) as held
     limit (select most from total)`;
}

/** How many due rows were read, and one more if the horizon cut some off. */
export const RANKED_DUE = sql`((select count(*) from candidate) + (select count(*) from horizon))::int`;
/** How many of them the rules allow now. If fewer were taken, rows were locked, or more are behind the horizon. */
export const RANKED_ALLOWED = sql`
  (select least((select most from total), count(*) + (select count(*) from horizon))::int from ranked where nth <= free)`;

/** Whether a claim left due tasks: to claim at once (`isFull`), or waiting for room under a cap (`isHeldBack`). */
export function leftovers(
  { limit, rules }: { readonly limit: number; readonly rules?: ClaimRules | undefined },
  {
    taken,
    due,
    allowed,
  }: { readonly taken: number; readonly due: number; readonly allowed: number },
): { readonly isFull: boolean; readonly isHeldBack: boolean } {
  const isPartOfBatch = (rules?.maxClaimBatch ?? 0) > 0 && taken > 0 && taken < due;
  const isFull = taken >= limit || taken < allowed || isPartOfBatch;
  return { isFull, isHeldBack: !isFull && taken < due };
}

/** More than any claim takes. */
const UNLIMITED = 1_000_000_000;
const UNLIMITED_CAP = sql`1000000000`;
/** Extra candidates for rows that are skipped because they are locked. */
const SPARE = sql`16`;
export interface RankedLane {
  readonly queue: string;
  readonly place?: number;
}

/** In the order of `rankParameters`. */
export function rankValues(
  lanes: readonly RankedLane[],
  rules: ClaimRules,
  most: readonly number[],
): unknown[] {
  const { queueCaps, clusterWideCap, maxClaimBatch, isSoft, unknownNames } = rules;
  const queues = [...new Set(lanes.map(({ queue }) => queue))];
  return [
    lanes.map(({ place }, n) => place ?? n),
    queues,
    queues.map((queue) => queueCaps.get(queue) ?? UNLIMITED),
    maxClaimBatch === 0 ? UNLIMITED : maxClaimBatch,
    clusterWideCap ?? UNLIMITED,
    isCapped(rules, queues),
    isSoft,
    unknownNames,
    most,
  ];
}

/**
 * How many rows are read of each lane: of one that is emptied alone enough for the claim, of many together a share. `boost`
 * makes the shares larger: tasks may be anything but evenly spread.
 */
export function readOfEach(lanes: readonly RankedLane[], limit: number, boost = 1): number[] {
  const together = new Map<number | undefined, number>();
  for (const { place } of lanes) together.set(place, (together.get(place) ?? 0) + 1);
  const enough = 2 * limit + 16;
  return lanes.map(({ place }) => {
    const share = Math.ceil(enough / (together.get(place) ?? 1));
    return Math.min(enough, Math.max(8, share) * boost);
  });
}

/** Whether a claim of these queues must count tasks under way. */
export function isCapped(
  { queueCaps, clusterWideCap }: Pick<ClaimRules, "queueCaps" | "clusterWideCap">,
  queues: readonly string[],
): boolean {
  return clusterWideCap !== null || queues.some((queue) => queueCaps.has(queue));
}
