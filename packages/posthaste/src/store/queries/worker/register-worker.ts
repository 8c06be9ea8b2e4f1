import { sql, statement, type Db, type SqlText } from "../../sql.ts";

export interface WorkerRow {
  readonly workerId: string;
  readonly name: string;
  readonly hostname: string;
  readonly pid: number;
  readonly version: string;
  readonly queues: readonly string[];
  /** The tasks that it can run. */
  readonly taskNames: readonly string[];
  readonly concurrency: number;
  /** The advisory lock that shows that its process lives, held by the session that registers it; null: that session is not ours alone. */
  readonly livenessKey: number | null;
  /** Its effective options, by path. */
  readonly config: Readonly<Record<string, unknown>>;
  /** More about its process: the version of Node, the platform. */
  readonly metadata: Readonly<Record<string, string>>;
}

export function registerWorker(schema: SqlText) {
  const REGISTER = statement(sql`
    insert into ${schema}.workers
      (worker_id, name, hostname, pid, version, queues, task_names, concurrency, liveness_key, metadata, config, state)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'running')
    on conflict (worker_id) do update
       set state = 'running', last_heartbeat_at = clock_timestamp(), liveness_key = excluded.liveness_key
    returning (extract(epoch from statement_timestamp()) * 1000)::float8 as "serverMs"`);

  const SET_STATE = statement(sql`
    update ${schema}.workers set state = $2, last_heartbeat_at = clock_timestamp()
     where worker_id = $1 and state <> 'dead'`);

  return {
    /** Returns the database's clock, in epoch ms. */
    async register(db: Db, row: WorkerRow): Promise<number> {
      const { workerId, name, hostname, pid, version, queues, taskNames, concurrency } = row;
      const [registered] = await db.query<{ serverMs: number }>(REGISTER, [
        workerId,
        name,
        hostname,
        pid,
        version,
        queues,
        taskNames,
        concurrency,
        row.livenessKey,
        JSON.stringify(row.metadata),
        JSON.stringify(row.config),
      ]);
      return registered?.serverMs ?? Number.NaN;
    },
    async setState(db: Db, workerId: string, state: "stopping" | "stopped"): Promise<void> {
      await db.query(SET_STATE, [workerId, state]);
    },
  };
}
