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
  /** Tasks of other names are left for workers that know them. Null: every name is taken. */
  readonly names: readonly string[] | null;
}

export const noRules: ClaimRules = {
  queueCaps: new Map(),
  clusterWideCap: null,
  maxClaimBatch: 0,
  isSoft: false,
  names: null,
};

/** Lanes of queues that run. Served by the primary key of queues, once a lane. */
export function isRunning(schema: SqlText): SqlText {
  return sql`(select known.paused_at from ${schema}.queues as known where known.queue = lane.queue) is null`;
}

/**
 * The ctids of the first `$4` due rows, lane after lane. Served by ready_tasks_claim_idx, one descent a lane. No outer
 * ORDER BY: a sort would lock limit × lanes rows.
 */
export function pickPlain(schema: SqlText): SqlText {
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
 * locked are passed over, so more candidates are read than are needed: twice as many, or, in a capped queue, where nobody
 * else claims meanwhile, a few.
 *
 * `load` counts what is under way and reads all of active_tasks, which holds what runs at this moment and no more. For
 * its count to be exact the locks of lock-caps.ts come first, in a statement of their own: a snapshot that is older than
 * the wait for a lock let three run under a cap of one.
 *
 * @param first number of the first of seven parameters, see `rankedValues`
 */
export function rankedSteps(schema: SqlText, first: number): SqlText {
  const [queues, caps, batch, cluster, isCounted, isSoft, names] = [0, 1, 2, 3, 4, 5, 6].map((n) =>
    parameter(first + n),
  ) as [SqlText, SqlText, SqlText, SqlText, SqlText, SqlText, SqlText];
  return sql`
    load as materialized (
      select queue, count(*)::int as held
        from ${schema}.active_tasks
       where ${isCounted}::boolean
         and (started_at is not null or (not ${isSoft}::boolean and claim_expires_at > statement_timestamp()))
       group by queue
    ), room as materialized (
      select said.queue, least(${batch}::int, said.cap - coalesce(load.held, 0)) as free
        from unnest(${queues}::text[], ${caps}::int[]) as said (queue, cap)
        left join load on load.queue = said.queue
    ), total as materialized (
      select least($4::int, greatest(0, ${cluster}::int - (select coalesce(sum(held), 0) from load)::int)) as most
    ), candidate as materialized (
      select lane.place, lane.queue, due.id, due.at, due.task_id, room.free
        from lane
        join room on room.queue = lane.queue
       cross join lateral (
         select ready.ctid as id, ready.enqueued_at as at, ready.task_id
           from ${schema}.ready_tasks as ready
          where ready.queue = lane.queue and ready.priority = lane.priority
            and ready.enqueued_at >= lane.mark and ready.enqueued_at <= statement_timestamp()
            and (${names}::text[] is null or (
              select sent.name from ${schema}.submissions as sent where sent.task_id = ready.task_id
            ) = any (${names}::text[]))
          order by ready.enqueued_at, ready.task_id
          limit least(2 * $4::int, greatest(room.free, 0)) + 64
       ) as due
    ), ranked as materialized (
      select id, place, at, task_id, free,
             row_number() over (partition by queue order by place, at, task_id) as nth
        from candidate
    )`;
}

export function pickRanked(schema: SqlText): SqlText {
  return sql`
    select held.ctid
      from (select id from ranked where nth <= free order by place, at, task_id) as next
     cross join lateral (
       select ready.ctid from ${schema}.ready_tasks as ready where ready.ctid = next.id for update skip locked
     ) as held
     limit (select most from total)`;
}

/** How much was due, among the rows that were looked at. */
export const RANKED_DUE = sql`(select count(*)::int from candidate)`;
/** How much of that the rules allow now. Fewer were taken: somebody else was looking at them. */
export const RANKED_ALLOWED = sql`(select least((select most from total), count(*))::int from ranked where nth <= free)`;

/** More than any claim takes. */
const UNLIMITED = 1_000_000_000;

export function rankedValues(queues: readonly string[], rules: ClaimRules): unknown[] {
  const { queueCaps, clusterWideCap, maxClaimBatch, isSoft, names } = rules;
  const wanted = [...new Set(queues)];
  return [
    wanted,
    wanted.map((queue) => queueCaps.get(queue) ?? UNLIMITED),
    maxClaimBatch === 0 ? UNLIMITED : maxClaimBatch,
    clusterWideCap ?? UNLIMITED,
    isCapped(rules, wanted),
    isSoft,
    names,
  ];
}

/** Whether a claim of these queues must count what is under way. */
export function isCapped(
  { queueCaps, clusterWideCap }: Pick<ClaimRules, "queueCaps" | "clusterWideCap">,
  queues: readonly string[],
): boolean {
  return clusterWideCap !== null || queues.some((queue) => queueCaps.has(queue));
}
