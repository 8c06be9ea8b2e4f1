import { sql, statement, type Db, type SqlText } from "../sql.ts";

export interface ListedWorker {
  readonly id: string;
  readonly name: string;
  readonly hostname: string;
  readonly pid: number;
  readonly version: string;
  /** JSON text. */
  readonly queues: string;
  /** JSON text. */
  readonly taskNames: string;
  /** JSON text. */
  readonly metadata: string | null;
  readonly concurrency: number;
  readonly state: "running" | "blocked" | "stopping" | "stopped" | "dead";
  readonly startedAt: Date;
  readonly lastHeartbeatAt: Date;
  readonly diedAt: Date | null;
  readonly isStale: boolean;
  readonly loopBlockedMs: number;
  readonly running: number;
  readonly claimed: number;
}

/** From here on a worker is listed as blocked: the time between two of its heartbeats. */
const BLOCKED_MS = sql`2000`;

/** For an operator's eyes, now and then: it reads the registry, and what is under way at this moment. */
export function listWorkers(schema: SqlText) {
  const LIST = statement(sql`
    select worker.worker_id as "id", worker.name as "name", worker.hostname as "hostname", worker.pid as "pid",
           worker.version as "version", to_jsonb(worker.queues) as "queues",
           to_jsonb(worker.task_names) as "taskNames", worker.metadata as "metadata", worker.concurrency as "concurrency",
           case when worker.state = 'running' and worker.loop_blocked_ms >= ${BLOCKED_MS} then 'blocked'
                else worker.state end as "state", worker.started_at as "startedAt", worker.last_heartbeat_at as "lastHeartbeatAt",
           worker.died_at as "diedAt", worker.loop_blocked_ms as "loopBlockedMs",
           worker.state in ('running', 'stopping')
             and worker.last_heartbeat_at < statement_timestamp() - $1::float8 * interval '1 millisecond' as "isStale",
           coalesce(load.running, 0) as "running", coalesce(load.claimed, 0) as "claimed"
      from ${schema}.workers as worker
      left join (
        select worker_id, (count(*) filter (where started_at is not null))::int as running,
               (count(*) filter (where started_at is null))::int as claimed
          from ${schema}.active_tasks group by worker_id
      ) as load on load.worker_id = worker.worker_id
     order by worker.state in ('running', 'stopping') desc, worker.started_at desc, worker.worker_id
     limit $2`);

  return (db: Db, staleAfterMs: number, limit: number): Promise<ListedWorker[]> =>
    db.query<ListedWorker>(LIST, [staleAfterMs, limit]);
}
