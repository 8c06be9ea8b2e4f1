import { sql, statement, type Db, type SqlText } from "../../sql.ts";
import type { WorkerRow } from "./register-worker.ts";

/** A worker as it has registered itself. */
export interface WorkerInfo extends Omit<WorkerRow, "workerId" | "config"> {
  /** A new one for every start, and after it was declared dead. */
  readonly id: string;
  /**
   * blocked: it is running, and at its last heartbeat its event loop had not turned for 2 s or more, so it claims and ends
   * nothing. dead: others found that it is gone, and took its tasks.
   */
  readonly state: "running" | "blocked" | "stopping" | "stopped" | "dead";
  readonly startedAt: Date;
  readonly lastHeartbeatAt: Date;
  readonly diedAt: Date | null;
  /** It should be alive, and its last heartbeat is older than `staleAfterMs`, by the database's clock. */
  readonly isStale: boolean;
  /** How long its event loop had not turned at the last heartbeat. */
  readonly loopBlockedMs: number;
  /** Tasks that it runs, and tasks that it has claimed and not started. */
  readonly running: number;
  readonly claimed: number;
}

/** JSON text. */
type ListedLists = Record<"queues" | "taskNames" | "metadata", string>;

/** From here on a worker is listed as blocked: the time between two of its heartbeats. */
const BLOCKED_MS = sql`2000`;

/** For operators: reads the registry and all active tasks. */
export function listWorkers(schema: SqlText) {
  const LIST = statement(sql`
    select worker.worker_id as "id", worker.name as "name", worker.hostname as "hostname", worker.pid as "pid",
           worker.version as "version", to_jsonb(worker.queues) as "queues",
           to_jsonb(worker.task_names) as "taskNames", coalesce(worker.metadata, '{}') as "metadata", worker.concurrency as "concurrency",
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

  return async (db: Db, staleAfterMs: number, limit: number): Promise<WorkerInfo[]> => {
    const rows = await db.query<Omit<WorkerInfo, keyof ListedLists> & ListedLists>(LIST, [
      staleAfterMs,
      limit,
    ]);
    return rows.map((row) => ({
      ...row,
      queues: JSON.parse(row.queues) as string[],
      taskNames: JSON.parse(row.taskNames) as string[],
      metadata: JSON.parse(row.metadata) as Record<string, string>,
    }));
  };
}
