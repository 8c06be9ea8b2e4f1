/** Facts about one task beyond its state: for operators, who look at one task at a time. */
import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** The heartbeats of one claim. */
export interface HeartbeatSpan {
  readonly claimId: string;
  readonly workerId: string;
  /** runner: for a task that runs. claimer: for one that has not started. */
  readonly role: "claimer" | "runner";
  readonly count: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
  /** The longest time between two of them; null: there is one. */
  readonly longestGapMs: number | null;
}

export interface StoredTimeline {
  readonly key: string | null;
  readonly workflowId: string | null;
  readonly node: string | null;
  readonly cancelRequestedAt: Date | null;
  readonly finishedAt: Date | null;
  /** When it was first due, if that was later than its sending. */
  readonly firstDueAt: Date | null;
  /** JSON text; null: none is stored. */
  readonly input: string | null;
  readonly result: string | null;
  readonly error: string | null;
}

export function readTimeline(schema: SqlText) {
  // submissions_pkey, and the indexes by id that the view joins.
  const FACTS = statement(sql`
    select task.key as "key", task.workflow_id as "workflowId", task.node as "node",
           task.cancel_requested_at as "cancelRequestedAt", task.finished_at as "finishedAt",
           (select run_at from ${schema}.submissions where task_id = $1) as "firstDueAt",
           task.input::text as "input", task.result::text as "result", task.error::text as "error"
      from ${schema}.tasks as task where task.id = $1`);

  // heartbeats_task_idx
  const HEARTBEATS = statement(sql`
    select claim_id as "claimId", sender_id as "workerId", role as "role", count(*)::int as "count",
           min(sent_at) as "firstAt", max(sent_at) as "lastAt",
           (date_part('epoch', max(gap)) * 1000)::float8 as "longestGapMs"
      from (
        select *, sent_at - lag(sent_at) over (partition by claim_id, role order by sent_at) as gap
          from ${schema}.heartbeats where task_id = $1
      ) as beat
     group by claim_id, sender_id, role
     order by min(sent_at), claim_id, role`);

  return {
    facts: async (db: Db, id: string): Promise<StoredTimeline | undefined> =>
      (await db.query<StoredTimeline>(FACTS, [id]))[0],
    /** Retention deletes heartbeats earlier than tasks. */
    heartbeats: (db: Db, id: string): Promise<HeartbeatSpan[]> =>
      db.query<HeartbeatSpan>(HEARTBEATS, [id]),
  };
}
