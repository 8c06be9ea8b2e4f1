/**
 * A session's settings are ours, whatever the role's defaults are: a role that is serializable, read-only or has a
 * statement_timeout of 5 ms must not change how the engine behaves.
 *
 * Behind a pooler that gives each transaction another session they would be left behind in sessions that serve others, and
 * be missing in ours. So they are set only where the session that answers is the one that was opened: a pooler makes up
 * the process id that it greets with. Nothing depends on them there: every object is named with its schema, steps that
 * belong together begin a transaction of their own, and without prepared statements every plan is made for its moment.
 */
import { sql, statement, type Db } from "./sql.ts";

/**
 * The use of a session decides its planner settings.
 *  - "moves": claim, start, settle. Their tables are empty one minute and hold a million rows the next, and a generic
 *    plan made on the empty table is a sequential scan (81 ms at 50,000 rows). Nested loops over an index are right
 *    always, so nothing else is allowed.
 *  - "sends": bulk inserts.
 *  - "heartbeats": heartbeats and verdicts based on them. Few statements, and one of them looks up thousands of claims.
 *  - "reads": everything else. Planned anew for its values, the look-up of one result took twice the time. Without sequential
 *    scans where there is another way: a plan from when `waiters` and `ready_tasks` were empty compared the place of each of
 *    their rows with each row to delete.
 *  - "migrations": statements that may take their time.
 */
export type Profile = keyof typeof profiles;

const profiles = {
  moves: {
    plan_cache_mode: "force_generic_plan",
    enable_seqscan: "off",
    enable_bitmapscan: "off",
    enable_sort: "off",
    enable_hashjoin: "off",
    enable_mergejoin: "off",
  },
  sends: { plan_cache_mode: "force_generic_plan", enable_seqscan: "off" },
  heartbeats: {
    plan_cache_mode: "force_generic_plan",
    enable_seqscan: "off",
    enable_bitmapscan: "off",
  },
  reads: { plan_cache_mode: "force_generic_plan", enable_seqscan: "off" },
  // Waiting for another process that migrates, or for a long lock, is no failure.
  migrations: { statement_timeout: "0", idle_in_transaction_session_timeout: "0" },
} as const satisfies Record<string, Readonly<Record<string, string>>>;

/** The settings of all sessions except migrations. */
export const STATEMENT_TIMEOUT = "30s";

const everySession = {
  search_path: "pg_catalog",
  default_transaction_isolation: "read committed",
  default_transaction_read_only: "off",
  statement_timeout: STATEMENT_TIMEOUT,
  lock_timeout: "0",
  idle_in_transaction_session_timeout: "60s",
  idle_session_timeout: "0",
  transaction_timeout: "0",
  jit: "off",
  timezone: "UTC",
  datestyle: "ISO",
  extra_float_digits: "1",
  synchronous_commit: "on",
};

/** Each session sets these for itself, unless a pooler stands between. */
export const ownSettings: readonly string[] = Object.keys(everySession);

// A setting that this version of PostgreSQL does not know is left out. synchronous_commit is only ever raised: a role with
// remote_apply keeps it.
const SET = statement(sql`
  select set_config(name, value, false)
    from unnest($1::text[], $2::text[]) as setting (name, value)
   where pg_backend_pid() = $3::int and current_setting(name, true) is not null
     and (name <> 'synchronous_commit' or current_setting('synchronous_commit') = 'off')`);

/** @param greetedBy the process id that the server named when the session was opened
 *  @returns whether the session is ours alone; if not, a pooler stands between */
export async function applySettings(
  db: Db,
  profile: Profile,
  greetedBy: number | null,
): Promise<boolean> {
  const settings: Readonly<Record<string, string>> = { ...everySession, ...profiles[profile] };
  const applied = await db.query(SET, [
    Object.keys(settings),
    Object.values(settings),
    greetedBy ?? 0,
  ]);
  return applied.length > 0;
}
