import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** The configuration with which a living worker runs, as it has stored it with its last sample. */
export interface WorkerConfig {
  readonly workerId: string;
  readonly name: string;
  /** By path: `recovery.autoFailStaleRunning`. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** worker_states_worker_idx, once for each living worker. */
export function readWorkerConfigs(schema: SqlText) {
  const READ = statement(sql`
    select worker.worker_id as "workerId", worker.name as "name", latest.config::text as "config"
      from ${schema}.workers as worker
     cross join lateral (
       select config from ${schema}.worker_states as sample
        where sample.worker_id = worker.worker_id order by sample.taken_at desc limit 1
     ) as latest
     where worker.state = 'running'
     order by worker.worker_id`);

  return async (db: Db): Promise<WorkerConfig[]> => {
    const rows = await db.query<Omit<WorkerConfig, "config"> & { config: string }>(READ);
    return rows.map((row) => ({
      ...row,
      config: JSON.parse(row.config) as WorkerConfig["config"],
    }));
  };
}
