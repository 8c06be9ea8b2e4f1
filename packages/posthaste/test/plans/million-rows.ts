/** Tables full of rows. A task's number says which state it is in. */
import type { TestDatabase } from "../support/database.ts";

export interface Sizes {
  /** Numbers 1 to here: due for an hour, priority 100. Those that end in 3 came back into the line. */
  readonly due: number;
  /** Up to here: due tomorrow, priority 1; the last thousand with a submission. */
  readonly ready: number;
  /** Up to here: finished, most of them well. */
  readonly finished: number;
  /** Up to here: every other one running, every other one claimed, by 20 workers. */
  readonly all: number;
}

export const millions: Sizes = {
  due: 100_000,
  ready: 1_000_000,
  finished: 2_000_000,
  all: 2_002_000,
};

export const thousands: Sizes = { due: 50_000, ready: 51_000, finished: 101_000, all: 151_000 };

/** The id of the task with this number. */
export function taskId(n: number): string {
  return uuid(n, 0);
}

/** The claim that holds, or finished, the task with this number. */
export function claimId(n: number): string {
  return uuid(n, 0xc);
}

export function workerId(n: number): string {
  return uuid(n, 0xf);
}

function uuid(n: number, kind: number): string {
  const digits = kind.toString(16).padStart(8, "0") + n.toString(16).padStart(24, "0");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

const id = "lpad(to_hex(n), 32, '0')::uuid";
const claim = "('0000000c' || lpad(to_hex(n), 24, '0'))::uuid";
const worker = "('0000000f' || lpad(to_hex(n % 20), 24, '0'))::uuid";
const cameBack = "n % 10 = 3";

function priority(due: number, ready: number): string {
  return `case when n > ${due} and n <= ${ready} then 1 else 100 end`;
}

function dueAt(due: number): string {
  return `now() + case when n <= ${due} then interval '-1 hour' else interval '1 day' end + n * interval '1 ms'`;
}

function goodUntil(due: number): string {
  return `case when n % 1000 = 0 then now() + (n - ${due / 2}) * interval '1 s' end`;
}

/** One INSERT … SELECT per table, with the indexes in place: about 14 s for the millions. */
export async function fillSchema(
  db: Pick<TestDatabase, "sql">,
  schema: string,
  { due, ready, finished, all }: Sizes,
): Promise<void> {
  await db.sql(`
    set synchronous_commit = off;
    insert into ${schema}.submissions (task_id, name, queue, priority, input, sent_at, run_at, good_until, key)
    select ${id}, 'some-task', 'default', ${priority(due, ready)}, '{}',
           case when n <= ${due} and not (${cameBack}) then ${dueAt(due)} else now() - interval '1 day' end,
           case when n > ${due} and n <= ${ready} and not (${cameBack}) then ${dueAt(due)} end,
           case when n <= ${ready} then ${goodUntil(due)} end, case when n % 100 = 0 then 'key-' || n end
      from generate_series(1, ${all}) as n
     where n <= ${due} or n > ${ready} - 1000 and n <= ${ready} or n > ${finished} - 50000;

    insert into ${schema}.ready_tasks (task_id, queue, priority, enqueued_at, good_until, attempt_no, retry_count)
    select ${id}, 'default', ${priority(due, ready)}, ${dueAt(due)}, ${goodUntil(due)},
           case when ${cameBack} then 1 end, case when ${cameBack} then 1 end
      from generate_series(1, ${ready}) as n;

    insert into ${schema}.finished_tasks
      (task_id, status, enqueued_at, started_at, finished_at, claim_id, worker_id, attempt_no, error_code, result)
    select ${id}, case when n % 100 = 0 then 'FAILED' end, now() - interval '2 days',
           now() - interval '2 days', now() - interval '2 days' + n * interval '1 ms', ${claim}, ${worker}, 1,
           case when n % 100 = 0 then 'BROKEN' end, '1'
      from generate_series(${ready} + 1, ${finished}) as n;

    insert into ${schema}.active_tasks
      (task_id, claim_id, worker_id, enqueued_at, attempt_no, claimed_at, started_at, claim_expires_at)
    select ${id}, ${claim}, ${worker}, now(), (n % 2 = 0)::int,
           case when n % 2 = 1 then now() end, case when n % 2 = 0 then now() end, case when n % 2 = 1 then now() end
      from generate_series(${finished} + 1, ${all}) as n;

    insert into ${schema}.attempts
      (task_id, attempt_no, claim_id, worker_id, claimed_at, started_at, finished_at, outcome)
    select ${id}, run, ${claim}, ${worker}, now(), now(), now(), 'FAILED'
      from generate_series(${finished} - 19999, ${finished}) as n, generate_series(1, 2) as run;

    insert into ${schema}.progress (task_id, attempt_no, updated_at, value)
    select ${id}, 1, now(), '1' from generate_series(1, 20000) as n;

    insert into ${schema}.waiters (task_id, channel)
    select ${id}, 'ph_' || md5((n % 500)::text) from generate_series(1, 20000) as n;

    insert into ${schema}.workers
      (worker_id, name, hostname, pid, version, queues, task_names, concurrency, state)
    select ('0000000f' || lpad(to_hex(n), 24, '0'))::uuid, 'w', 'h', 1, '1', '{}', '{}', 1, 'running'
      from generate_series(0, 2000) as n`);
}
