import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** How a worker is at one moment. */
export interface WorkerSnapshot {
  readonly workerId: string;
  readonly tasksRunning: number;
  readonly tasksClaimed: number;
  readonly cpuPercent: number;
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly loopLagMs: number;
  /** JSON text. */
  readonly config: string;
}

export function workerStates(schema: SqlText) {
  // Facts about the worker come from the registry. Served by the registry's primary key.
  const RECORD = statement(sql`
    insert into ${schema}.worker_states
      (worker_id, hostname, pid, state, concurrency, tasks_running, tasks_claimed, cpu_percent, rss_bytes, heap_bytes,
       loop_lag_ms, config)
    select worker_id, hostname, pid, state, concurrency, $2, $3, $4, $5, $6, $7, $8
      from ${schema}.workers where worker_id = $1`);

  return {
    async record(db: Db, snapshot: WorkerSnapshot): Promise<void> {
      const { workerId, tasksRunning, tasksClaimed, cpuPercent, rssBytes } = snapshot;
      const { heapBytes, loopLagMs, config } = snapshot;
      await db.query(RECORD, [
        workerId,
        tasksRunning,
        tasksClaimed,
        cpuPercent,
        rssBytes,
        heapBytes,
        Math.round(loopLagMs),
        config,
      ]);
    },
  };
}
