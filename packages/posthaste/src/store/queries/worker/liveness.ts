import { randomInt } from "node:crypto";
import { deathChannel } from "../../channels.ts";
import { lockClass } from "../../lock-keys.ts";
import { schemaText, sql, statement, type Db } from "../../sql.ts";

/** A worker whose lock is gone, as the last look at it was. */
export interface MissingWorker {
  readonly workerId: string;
  readonly key: number;
  /** For how long, by the database's clock, it is known to be missing. */
  readonly missingMs: number;
}

export interface Look {
  readonly missing: readonly MissingWorker[];
  /** Another leader looked until a moment ago: the times that it stored still count. */
  readonly isHandover: boolean;
}

export interface Beat {
  readonly workerId: string;
  /** The lock that the session holds; null: it is not ours alone, and holds none. */
  readonly key: number | null;
  /** How long the event loop has not turned. */
  readonly loopBlockedMs: number;
  /** Whether it is the one that looks after the others, would like to be, or cannot. */
  readonly leading: "leads" | "wants to" | "no";
}

export interface BeatReply {
  /** Null: this worker has no row, or was declared dead. */
  readonly state: "running" | "stopping" | "stopped" | null;
  /** It holds the leader's lock. */
  readonly leads: boolean;
  /** The leader holds its lock and does not act (a frozen process), and this worker is the first that may stand in. */
  readonly stepsIn: boolean;
  /** Whether there are other workers. */
  readonly hasOthers: boolean;
  /**
   * For the leader: milliseconds until the first deadline of a waiting task, negative if it has passed. Null: none before the next
   * heartbeat.
   */
  readonly deadlineMs: number | null;
  /** The database's clock, in epoch ms. */
  readonly serverMs: number;
}

/** The key of the one that looks after the others; keys of workers begin at 1. */
const LEADER = sql`0`;
/** A leader without a heartbeat for this long does not act. */
const SILENT = sql`interval '6 seconds'`;
/** Between the last word of one leader and the first look of the next: two heartbeats, and a little. */
const HANDOVER = sql`interval '5 seconds'`;
const IS_WATCHED = sql`state in ('running', 'stopping') and liveness_key is not null`;
/** How old a heartbeat may be when the lock vanishes. An older one: it fell silent before that, and may be only frozen. */
const FRESH = sql`interval '5 seconds'`;

/**
 * The deadlines that the leader looks at: those that pass before its next heartbeat, or have passed since its last one. The next round
 * handles older ones. The range is short because, under an old snapshot, the index keeps an
 * entry for every task that was claimed in time.
 */
const DEADLINES = sql`good_until > statement_timestamp() - interval '10 seconds'
  and good_until < statement_timestamp() + interval '3 seconds'`;

/**
 * Whether a worker's process lives. Its session holds an advisory lock; the kernel closes the socket of a dead process at
 * once, PostgreSQL ends the session, and the lock is gone. Locks are looked at in pg_locks, which needs no privilege, and
 * never probed by taking them: a probe could keep their owner out.
 */
export function liveness(schemaName: string) {
  const schema = schemaText(schemaName);
  const lockSpace = lockClass(`${schemaName}/liveness`);

  const TAKE_LOCK = statement(sql`
    select pg_try_advisory_lock($1::integer, $2::integer) as "isHeld"`);

  // A worker that was declared dead stays dead: its tasks are being recovered. The registry is read as it was
  // before the statement; it has a row for each worker, and no index but by id. Deadlines: ready_tasks_deadline_idx.
  const BEAT = statement(sql`
    with asked as materialized (
      select case $4 when 'wants to' then pg_try_advisory_lock($5::integer, ${LEADER}) else $4 = 'leads' end as leads
    ), beat as (
      update ${schema}.workers
         set last_heartbeat_at = clock_timestamp(), liveness_key = $2, loop_blocked_ms = $3,
             leads_at = case when (select leads from asked) then clock_timestamp() else leads_at end
       where worker_id = $1 and state <> 'dead'
      returning state
    )
    select (select state from beat) as "state", leads as "leads",
           $4 = 'wants to' and not leads
             and not exists (select from ${schema}.workers where leads_at > clock_timestamp() - ${SILENT})
             and not exists (
               select from ${schema}.workers
                where worker_id < $1 and ${IS_WATCHED} and last_heartbeat_at > clock_timestamp() - ${SILENT})
             as "stepsIn",
           exists (select from ${schema}.workers where worker_id <> $1 and ${IS_WATCHED}) as "hasOthers",
           case when leads or $2::integer is null then (
             select (extract(epoch from good_until - statement_timestamp()) * 1000)::float8
               from ${schema}.ready_tasks where ${DEADLINES} order by good_until limit 1
           ) end as "deadlineMs",
           (extract(epoch from statement_timestamp()) * 1000)::float8 as "serverMs"
      from asked`);

  // The first session after a promotion finds a new timeline. Nearly always it is known, and nothing is written.
  const NOTE_TIMELINE = statement(sql`
    insert into ${schema}.server_timelines (timeline)
    select ${schema}.current_timeline()
     where not exists (select from ${schema}.server_timelines where timeline = ${schema}.current_timeline())
    on conflict do nothing`);

  const STEP_DOWN = statement(sql`select pg_advisory_unlock($1::integer, ${LEADER})`);

  // A worker writes its key only after it has taken the lock, so a key that is read here was held at some moment before.
  // Unchanged marks are not written. If the owner sent a heartbeat after the mark, its lock was there again: the mark starts again,
  // or the verdict would never come.
  const LOOK = statement(sql`
    with held as materialized (
      select objid::bigint as key
        from pg_locks
       where locktype = 'advisory' and classid = $1::integer::oid and objsubid = 2 and granted
         and database = (select oid from pg_database where datname = current_database())
    ), seen as materialized (
      select worker_id, liveness_key, last_heartbeat_at, lock_missing_since,
             last_heartbeat_at > lock_missing_beat as is_heard,
             liveness_key in (select key from held) as is_held
        from ${schema}.workers
       where ${IS_WATCHED} and worker_id <> $2
    ), marked as (
      update ${schema}.workers as worker
         set lock_missing_since = case when not seen.is_held then statement_timestamp() end,
             lock_missing_beat = case when not seen.is_held then seen.last_heartbeat_at end
        from seen
       where worker.worker_id = seen.worker_id and worker.liveness_key = seen.liveness_key
         and case when seen.is_held then seen.lock_missing_since is not null
                  else seen.lock_missing_since is null or seen.is_heard end
    )
    select worker_id as "workerId", liveness_key as "key",
           coalesce(extract(epoch from statement_timestamp() - lock_missing_since)::float8 * 1000, 0) as "missingMs",
           exists (select from ${schema}.workers
                    where worker_id <> $2 and leads_at > statement_timestamp() - ${HANDOVER}) as "isHandover"
      from seen where not is_held`);

  // Checks all conditions of the verdict again: the lock has been missing for the whole grace, no heartbeat came since, the worker was
  // healthy when the lock vanished, the server has not just started, and no session holds the lock.
  const DECLARE = statement(sql`
    with dead as (
      update ${schema}.workers
         set state = 'dead', died_at = statement_timestamp()
       where worker_id = $2 and liveness_key = $3 and state in ('running', 'stopping')
         and lock_missing_since <= statement_timestamp() - $4::float8 * interval '1 millisecond'
         and last_heartbeat_at <= lock_missing_beat
         and lock_missing_since - lock_missing_beat < ${FRESH}
         and (select ${schema}.up_since()) < statement_timestamp() - $4::float8 * interval '1 millisecond'
         and (select pg_try_advisory_xact_lock($1::integer, $3::integer))
      returning worker_id
    )
    select worker_id as "workerId", ${schema}.notify_unless_full($5, worker_id::text) from dead`);

  return {
    /**
     * A lock under a new key, held until the session ends. A key for every session, so that one which is half dead cannot
     * keep its own successor out; random, so that no sequence and no right to it is needed.
     */
    async takeLock(db: Db): Promise<number> {
      for (;;) {
        const key = randomInt(1, 2 ** 31);
        const [row] = await db.query<{ isHeld: boolean }>(TAKE_LOCK, [lockSpace, key]);
        if (row?.isHeld === true) return key;
      }
    },
    async beat(db: Db, { workerId, key, loopBlockedMs, leading }: Beat): Promise<BeatReply> {
      const values = [workerId, key, Math.round(loopBlockedMs), leading, lockSpace];
      const [row] = await db.query<BeatReply>(BEAT, values);
      if (row === undefined) throw new TypeError("a heartbeat was answered without a row");
      return row;
    },
    /** To be called with every new session: after a promotion all sessions are new. */
    async noteTimeline(db: Db): Promise<void> {
      await db.query(NOTE_TIMELINE);
    },
    async stepDown(db: Db): Promise<void> {
      await db.query(STEP_DOWN, [lockSpace]);
    },
    /** Looks at everybody's lock but one's own, and remembers since when which are missing. */
    async look(db: Db, ownId: string): Promise<Look> {
      const missing = await db.query<MissingWorker & { isHandover: boolean }>(LOOK, [
        lockSpace,
        ownId,
      ]);
      return { missing, isHandover: missing[0]?.isHandover ?? false };
    },
    /** True: the worker is dead, and all workers are notified. */
    async declareDead(
      db: Db,
      { workerId, key }: Pick<MissingWorker, "workerId" | "key">,
      crashGraceMs: number,
    ): Promise<boolean> {
      const channel = deathChannel(schemaName);
      const dead = await db.query(DECLARE, [lockSpace, workerId, key, crashGraceMs, channel]);
      return dead.length > 0;
    },
  };
}
