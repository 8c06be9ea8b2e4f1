/** Which ready rows a claim takes: the first in line, or the first in line that every rule allows. */
import { parameter, sql, type SqlText } from "../sql.ts";

/** What a claim must keep to, besides the order. */
export interface ClaimRules {
  /** The most tasks of a queue that may be under way in the whole cluster, by queue. */
  readonly queueCaps: ReadonlyMap<string, number>;
  /** The most tasks that may be under way in the whole cluster. */
  readonly clusterWideCap: number | null;
  /** The most tasks that one claim takes of one queue; 0: as many as fit. */
  readonly maxClaimBatch: number;
  /** Whether tasks that are only claimed leave caps alone: with tasks fetched ahead, caps count what runs. */
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

/** Lanes of queues that run. Served by the primary key of queues, once a lane. */
export function isRunning(schema: SqlText): SqlText {
  return sql`(select known.paused_at from ${schema}.queues as known where known.queue = lane.queue) is null`;
}

/**
 * Takes rows in order and skips rows that another transaction has locked. The ctid array keeps the DELETE a TID scan; joined to a
 * sub-select that locks it was a hash join over the whole table (20 ms for 500 rows). It is safe because ready rows are
 * never updated.
 */
export function takeReady(schema: SqlText, isRanked: boolean): SqlText {
  const pick = isRanked ? pickRanked(schema) : pickPlain(schema);
  return sql`delete from ${schema}.ready_tasks where ctid = any (array(${pick})) returning *`;
}

/**
 * The ctids of the first `$4` due rows, lane after lane. Served by ready_tasks_claim_idx, one descent a lane. No outer
 * ORDER BY: a sort would look at limit × lanes rows.
 */
function pickPlain(schema: SqlText): SqlText {
  return sql`
    select due.ctid
      from lane
     cross join lateral (
       select ready.ctid
         from ${schema}.ready_tasks as ready
        where ready.queue = lane.queue and ready.priority = lane.priority
          and ready.enqueued_at >= lane.mark and ready.enqueued_at <= statement_timestamp()
        order by ready.enqueued_at, ready.task_id
        limit $4
        for update skip locked
     ) as due
     limit $4`;
}

/**
 * Steps for a claim with rules, or over queues of the same rank, whose lines are merged by time. Candidates are read
 * without locks, ranked, and then locked one by one in that order until enough are had. Rows that somebody else has
 * locked are passed over, so a few more candidates are read than are needed.
 *
 * Of many lanes that are emptied together only a part is read of each (`most`). Where a lane has more than that, what comes
 * behind its last row that was read is beyond the horizon: an older one might be in that lane. It is left for the next
 * claim, which follows at once.
 *
 * `load` counts what is under way, of what was claimed under a cap. For its count to be exact the locks of lock-caps.ts come first, in a statement of their own: a snapshot that is older than
 * the wait for a lock let three run under a cap of one.
 *
 * @param first number of the first of eight parameters, see `rankedValues`
 */
export function rankedSteps(schema: SqlText, first: number): SqlText {
  const at = (n: number): SqlText => parameter(first + n);
  const [queues, caps, batch, cluster] = [at(0), at(1), at(2), at(3)];
  const [isCounted, isSoft, unknownNames, most] = [at(4), at(5), at(6), at(7)];
  return sql`
    load as materialized (
      select busy.queue, busy.held
        from (select where ${isCounted}::boolean) as counted
       cross join lateral ${schema}.queue_load(not ${isSoft}::boolean) as busy
    ), room as materialized (
      select said.queue, least(${batch}::int, said.cap - coalesce(load.held, 0)) as free
        from unnest(${queues}::text[], ${caps}::int[]) as said (queue, cap)
        left join load on load.queue = said.queue
    ), total as materialized (
      select least($4::int, greatest(0, ${cluster}::int - (select coalesce(sum(held), 0) from load)::int)) as most
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

/** The parameter of `rankedSteps` that says whether what is claimed counts for a cap. */
export function isCountedParameter(first: number): SqlText {
  return sql`${parameter(first + 4)}::boolean`;
}

/** Whether a row's queue has no cap. `first` as in `rankedSteps`. */
export function isUncapped(first: number, queue: SqlText): SqlText {
  const [queues, caps] = [parameter(first), parameter(first + 1)];
  return sql`(${caps}::int[])[array_position(${queues}::text[], ${queue})] = ${UNLIMITED_CAP}`;
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

/** How much was due, among the rows that were looked at, and one more if there may be some behind the horizon. */
export const RANKED_DUE = sql`((select count(*) from candidate) + (select count(*) from horizon))::int`;
/** How much of that the rules allow now. Fewer were taken: somebody else was looking at them, or there is more behind the horizon. */
export const RANKED_ALLOWED = sql`
  (select least((select most from total), count(*) + (select count(*) from horizon))::int from ranked where nth <= free)`;

/** What a claim has left: more to take at once (`isFull`), or something that waits for room under a cap. */
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
/** For rows that are passed over because somebody has locked them. */
const SPARE = sql`16`;
export interface RankedLane {
  readonly queue: string;
  readonly place?: number;
}

export function rankedValues(
  lanes: readonly RankedLane[],
  rules: ClaimRules,
  most: readonly number[],
): unknown[] {
  const { queueCaps, clusterWideCap, maxClaimBatch, isSoft, unknownNames } = rules;
  const wanted = [...new Set(lanes.map(({ queue }) => queue))];
  return [
    wanted,
    wanted.map((queue) => queueCaps.get(queue) ?? UNLIMITED),
    maxClaimBatch === 0 ? UNLIMITED : maxClaimBatch,
    clusterWideCap ?? UNLIMITED,
    isCapped(rules, wanted),
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

/** Whether a claim of these queues must count what is under way. */
export function isCapped(
  { queueCaps, clusterWideCap }: Pick<ClaimRules, "queueCaps" | "clusterWideCap">,
  queues: readonly string[],
): boolean {
  return clusterWideCap !== null || queues.some((queue) => queueCaps.has(queue));
}
