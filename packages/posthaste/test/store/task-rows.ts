/** Tasks in any state, written straight into the tables: rows of the age a test needs, so that no test has to wait. */
import { randomUUID } from "node:crypto";
import type { TestDatabase } from "../support/database.ts";

/** Whatever can be asked in SQL. */
type Asked = Pick<TestDatabase, "sql">;

export interface ReadySeed {
  readonly id?: string;
  readonly name?: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly input?: unknown;
  readonly options?: unknown;
  readonly flags?: unknown;
  readonly key?: string;
  /** When it is due, in ms from now; negative: it has been for so long. */
  readonly dueMs?: number;
  /** When its deadline passes, in ms from now. */
  readonly goodMs?: number;
  /** Handlers that have run; a failed attempt is written for each. Left out: it has never been claimed. */
  readonly runs?: number;
  /** Retries spent. One that has spent some came back into the line, even if no handler has run. */
  readonly retryCount?: number;
  readonly crashCount?: number;
}

export interface ActiveSeed extends ReadySeed {
  readonly status?: "CLAIMED" | "RUNNING";
  readonly workerId?: string;
  readonly isCancelRequested?: boolean;
  /** How long ago it was claimed, and started if it runs. */
  readonly heldMs?: number;
  /** The age of its last heartbeat. Left out: none. */
  readonly beatMs?: number;
  /** In how many ms the lease of a claimed task ends. */
  readonly leaseMs?: number;
  /** Whether a running task was claimed before it started, a second earlier. */
  readonly isFetchedAhead?: boolean;
}

export interface Claim {
  readonly id: string;
  readonly claimId: string;
}

/** A queue that no other test uses. */
export function newQueue(): string {
  return `q_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
}

export async function addReady(db: Asked, seeds: readonly ReadySeed[]): Promise<string[]> {
  const items = seeds.map((seed) => ({ ...readyDefaults(), ...seed }));
  await db.sql(
    `with ${INCOMING}
     insert into posthaste.ready_tasks
       (task_id, queue, priority, enqueued_at, good_until, attempt_no, retry_count, crash_count)
     select id, queue, priority, ${at('"dueMs"')}, ${at('"goodMs"')},
            case when ${cameBack} then coalesce(runs, 0) end, "retryCount", "crashCount"
       from item`,
    [JSON.stringify(items)],
  );
  return items.map(({ id }) => id);
}

export async function addOneReady(db: Asked, seed: ReadySeed = {}): Promise<string> {
  const [id] = await addReady(db, [seed]);
  if (id === undefined) throw new Error("nothing was added");
  return id;
}

export async function addActive(db: Asked, seeds: readonly ActiveSeed[]): Promise<Claim[]> {
  const items = seeds.map((seed) => ({
    ...readyDefaults(),
    dueMs: -2_000 - (seed.heldMs ?? 1_000),
    heldMs: 1_000,
    status: "RUNNING",
    workerId: randomUUID(),
    isCancelRequested: false,
    isFetchedAhead: false,
    beatMs: null,
    leaseMs: 60_000,
    ...seed,
    claimId: randomUUID(),
  }));
  await db.sql(
    `with ${INCOMING}
     insert into posthaste.active_tasks
       (task_id, claim_id, worker_id, enqueued_at, good_until, attempt_no, retry_count, crash_count,
        claimed_at, started_at, claim_expires_at, cancel_requested_at, heartbeat_at)
     select id, "claimId", "workerId", case when ${cameBack} then ${at('"dueMs"')} end, ${at('"goodMs"')},
            case when ${cameBack} then coalesce(runs, 0) + (status = 'RUNNING')::int end, "retryCount", "crashCount",
            case when status = 'CLAIMED' then ${at('-"heldMs"')}
                 when "isFetchedAhead" then ${at('(-"heldMs" - 1000)')} end,
            case status when 'RUNNING' then ${at('-"heldMs"')} end, case status when 'CLAIMED' then ${at('"leaseMs"')} end,
            case when "isCancelRequested" then ${at("-10")} end, ${at('-"beatMs"')}
       from item`,
    [JSON.stringify(items)],
  );
  return items.map(({ id, claimId }) => ({ id, claimId }));
}

export async function addOneActive(db: Asked, seed: ActiveSeed = {}): Promise<Claim> {
  const [claim] = await addActive(db, [seed]);
  if (claim === undefined) throw new Error("nothing was added");
  return claim;
}

/** A finished task, by way of the public function that needs no worker. */
export async function addFinished(db: Asked): Promise<string> {
  const id = await addOneReady(db);
  await db.sql("select posthaste.fail($1, 'BROKEN', 'it broke')", [id]);
  return id;
}

export interface Places {
  readonly ready: TableRow | null;
  readonly active: TableRow | null;
  readonly finished: TableRow | null;
  /** The attempts that were not the last, oldest first. */
  readonly attempts: readonly TableRow[];
}

/** A row as JSON, with what its nulls mean: instants are ISO text, with microseconds. */
export type TableRow = Readonly<Record<string, unknown>>;

const MEANT = `jsonb_build_object(
  'attempt_no', coalesce(attempt_no, (started_at is not null)::int), 'enqueued_at', coalesce(enqueued_at, run_at, sent_at))`;

export async function placesOf(db: Asked, id: string): Promise<Places> {
  const [places] = await db.sql<Places>(
    `select (select to_jsonb(r) from posthaste.ready_tasks r where task_id = $1) as ready,
            (select to_jsonb(a) || ${MEANT} from posthaste.active_tasks a join posthaste.submissions s using (task_id)
              where task_id = $1) as active,
            (select to_jsonb(f) || ${MEANT} || jsonb_build_object('status', coalesce(f.status, 'COMPLETED'))
               from posthaste.finished_tasks f join posthaste.submissions s using (task_id)
              where task_id = $1) as finished,
            (select coalesce(jsonb_agg(to_jsonb(t) order by attempt_no), '[]')
               from posthaste.attempts t where task_id = $1) as attempts`,
    [id],
  );
  if (places === undefined) throw new Error("no answer");
  return places;
}

/** How many ms after now an instant of a row lies; negative: before. */
export function msFromNow(instant: unknown): number {
  if (typeof instant !== "string") throw new TypeError(`not an instant: ${String(instant)}`);
  return Date.parse(instant) - Date.now();
}

function readyDefaults() {
  return {
    id: randomUUID(),
    name: "some-task",
    queue: "default",
    priority: 100,
    input: {},
    options: null,
    flags: null,
    key: null,
    dueMs: -1_000,
    goodMs: null,
    runs: null,
    retryCount: null,
    crashCount: null,
  };
}

function at(ms: string): string {
  return `statement_timestamp() + ${ms} * interval '1 millisecond'`;
}

const cameBack = `coalesce(runs, "retryCount", "crashCount") is not null`;

// A task that was never claimed has the place of its submission: it was sent when it became due, or to run then.
const INCOMING = `
  item as materialized (
    select * from jsonb_to_recordset($1::text::jsonb) as item (
      id uuid, name text, queue text, priority smallint, input jsonb, options jsonb, "dueMs" float8, "goodMs" float8,
      runs int, "retryCount" int, "crashCount" int, status text, "claimId" uuid, "workerId" uuid,
      "isCancelRequested" boolean, "isFetchedAhead" boolean, "heldMs" float8, "beatMs" float8, "leaseMs" float8,
      flags jsonb, key text)
  ), stored as (
    insert into posthaste.submissions (task_id, name, queue, priority, input, options, flags, key, sent_at, run_at, good_until)
    select id, name, queue, priority, coalesce(input, 'null'), options, flags, key, ${at('least("dueMs", 0)')},
           case when "dueMs" > 0 and not (${cameBack}) then ${at('"dueMs"')} end, ${at('"goodMs"')}
      from item
  ), history as (
    insert into posthaste.attempts
      (task_id, attempt_no, claim_id, worker_id, claimed_at, started_at, finished_at, outcome, error_code, error)
    select id, n, gen_random_uuid(), gen_random_uuid(), ${at('"dueMs"')}, ${at('"dueMs"')}, ${at('"dueMs"')},
           'FAILED', 'EARLIER', jsonb_build_object('code', 'EARLIER', 'message', 'attempt ' || n)
      from item, generate_series(1, coalesce(runs, 0)) as n
  )`;
