/** Pages of tasks for operators: each list walks one index, in its order, through a bounded window. */
import type { RetryableStatus } from "../../../domain/task-lifecycle.ts";
import { sql, statement, type Db, type SqlText, type Statement } from "../../sql.ts";

export interface ListedTask {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  readonly status: string;
  readonly key: string | null;
  /** Handlers that began. */
  readonly attempts: number;
  readonly sentAt: Date;
  /** When it may be claimed; moves with every retry. */
  readonly enqueuedAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /** The code of its end, not of an earlier attempt. */
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly workerId: string | null;
  readonly workflowId: string | null;
  readonly node: string | null;
  /** The task of which an operator sent it as a copy. */
  readonly copyOf: string | null;
}

/** Conditions on a task. What is left out is any. */
export interface TaskConditions {
  readonly name?: string | undefined;
  readonly queue?: string | undefined;
  readonly errorCode?: string | undefined;
  readonly key?: string | undefined;
  /** Id or name of the worker that has claimed it, or claimed it last. */
  readonly worker?: string | undefined;
  /** Compares the time of the end in lists of ended tasks, and the time of sending in others. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** Which index is walked, and so in which order. */
export type Walk =
  /** Ends other than COMPLETED, latest first. */
  | { readonly kind: "ended"; readonly status: RetryableStatus; readonly by: EndIndex }
  /** CLAIMED or RUNNING tasks by id, newest first. */
  | { readonly kind: "active"; readonly isStarted: boolean }
  /** Waiting tasks as they are claimed, queue after queue. */
  | { readonly kind: "waiting" }
  /** Completed tasks by id, newest first. */
  | { readonly kind: "completed" }
  /** All tasks by id, newest first. */
  | { readonly kind: "all" }
  /** The one task with a name and a key. */
  | { readonly kind: "keyed"; readonly status: string | undefined };

/** "unnamed": rows of an older library, which stored neither name nor queue; their submissions are read. */
export type EndIndex = "status" | "name" | "queue" | "code" | "unnamed";

/** A place in a walk: what its index is ordered by, as text. */
export type WalkPosition = readonly string[];

export interface WalkPage {
  /** At most as many as were asked for, and one more. */
  readonly tasks: readonly (ListedTask & { readonly position: WalkPosition })[];
  /** Where the window ended, if it ended before the page was full. Null: the walk has no more rows. */
  readonly windowEnd: WalkPosition | null;
}

/** The most rows of an index that one page reads: about 30 ms where each needs a look at its submission. */
const WINDOW = sql`10000`;

/** Statements for one kind of walk. */
interface WalkTexts {
  readonly page: Statement;
  readonly windowEnd: Statement;
}

/** A walk as SQL. `$1` is an object of JSON with the conditions and the position after which the walk goes on. */
interface WalkText {
  readonly from: SqlText;
  /** The conditions that the index serves. */
  readonly where: SqlText;
  readonly order: SqlText;
  /** An array of text. */
  readonly position: SqlText;
  /** The conditions that are checked row by row. */
  readonly filter: SqlText;
}

export function listTasks(schema: SqlText) {
  const ended = (by: EndIndex): WalkTexts => texts(schema, endedWalk(schema, by));
  const ENDED: Record<EndIndex, WalkTexts> = {
    status: ended("status"),
    name: ended("name"),
    queue: ended("queue"),
    code: ended("code"),
    unnamed: ended("unnamed"),
  };
  const OTHERS = {
    active: texts(schema, activeWalk(schema)),
    waiting: texts(schema, waitingWalk(schema)),
    completed: texts(schema, completedWalk(schema)),
    all: texts(schema, allWalk(schema)),
    keyed: texts(schema, keyedWalk(schema)),
  };

  return async (
    db: Db,
    walk: Walk,
    conditions: TaskConditions,
    page: { readonly after: WalkPosition | null; readonly limit: number },
  ): Promise<WalkPage> => {
    const { page: PAGE, windowEnd: WINDOW_END } =
      walk.kind === "ended" ? ENDED[walk.by] : OTHERS[walk.kind];
    const { kind: _, ...walked } = walk;
    const values = JSON.stringify({ ...conditions, ...walked, after: page.after });
    const rows = await db.query<ListedTask & { position: string }>(PAGE, [values, page.limit + 1]);
    const tasks = rows.map(({ position, ...task }) => ({
      ...task,
      position: JSON.parse(position) as WalkPosition,
    }));
    if (tasks.length > page.limit) return { tasks, windowEnd: null };
    const [end] = await db.query<{ position: string }>(WINDOW_END, [values]);
    return { tasks, windowEnd: end === undefined ? null : (JSON.parse(end.position) as string[]) };
  };
}

/** The page is read lazily: PostgreSQL stops at the last row that it needs. Status and facts come from the same snapshot. */
function texts(schema: SqlText, { from, where, order, position, filter }: WalkText): WalkTexts {
  const looked = sql`select * from ${from} where ${where} order by ${order}`;
  return {
    page: statement(sql`
      with picked as materialized (
        select walked.task_id, to_jsonb(${position}) as position, row_number() over () as n
          from (${looked} limit ${WINDOW}) as walked
         where ${filter}
         limit $2
      )
      select task.id as "id", task.name as "name", task.queue as "queue", task.priority as "priority",
             task.status as "status", task.key as "key", task.attempt_no as "attempts", task.sent_at as "sentAt",
             task.enqueued_at as "enqueuedAt", task.started_at as "startedAt", task.finished_at as "finishedAt",
             task.error_code as "errorCode", task.error ->> 'message' as "errorMessage", task.worker_id as "workerId",
             task.workflow_id as "workflowId", task.node as "node", task.copy_of as "copyOf",
             picked.position as "position"
        from picked
       cross join lateral (select * from ${schema}.tasks where id = picked.task_id limit 1) as task
       order by picked.n`),
    windowEnd: statement(sql`
      select to_jsonb(${position}) as "position"
        from (${looked} offset ${WINDOW} - 1 limit 1) as walked`),
  };
}

/** Served by the five indexes finished_tasks_{ended,name,queue,code,unnamed}_idx. */
function endedWalk(schema: SqlText, by: EndIndex): WalkText {
  const own = { name: sql`walked.name`, queue: sql`walked.queue` };
  const sent = { name: ofSubmission(schema, sql`name`), queue: ofSubmission(schema, sql`queue`) };
  const { name, queue } = by === "unnamed" ? sent : own;
  return {
    from: sql`${schema}.finished_tasks as ended`,
    where: sql`
      status is not null and status = ${wanted("status")} and ${END_INDEXES[by]}
      and finished_at >= coalesce(${wanted("since")}::timestamptz, '-infinity')
      and (finished_at, task_id) < (
        coalesce(${after(0)}::timestamptz, 'infinity'), coalesce(${after(1)}, 'ffffffff-ffff-ffff-ffff-ffffffffffff')::uuid)
      and finished_at < coalesce(${wanted("until")}::timestamptz, 'infinity')`,
    order: sql`finished_at desc, task_id desc`,
    position: sql`array[${instantText(sql`walked.finished_at`)}, walked.task_id::text]`,
    filter: sql`
      ${matches("name", name)} and ${matches("queue", queue)}
      and ${matches("errorCode", sql`walked.error_code`)} and ${ofWorker(schema, sql`walked.worker_id`)}`,
  };
}

const END_INDEXES: Record<EndIndex, SqlText> = {
  status: sql`true`,
  name: sql`name = ${wanted("name")}`,
  queue: sql`queue = ${wanted("queue")}`,
  code: sql`error_code = ${wanted("errorCode")}`,
  unnamed: sql`name is null`,
};

/** Served by active_tasks_id_idx. */
function activeWalk(schema: SqlText): WalkText {
  return {
    from: sql`${schema}.active_tasks as held`,
    ...byId,
    filter: sql`
      (walked.started_at is not null) = (${wanted("isStarted")})::boolean
      and ${ofWorker(schema, sql`walked.worker_id`)} and ${sentAsWanted(schema)}`,
  };
}

/** Served by ready_tasks_claim_idx. */
function waitingWalk(schema: SqlText): WalkText {
  return {
    from: sql`${schema}.ready_tasks as ready`,
    where: sql`
      (${wanted("queue")} is null or queue = ${wanted("queue")})
      and (queue, priority, enqueued_at, task_id) > (
        coalesce(${after(0)}, ''), coalesce(${after(1)}::smallint, 0::smallint),
        coalesce(${after(2)}::timestamptz, '-infinity'), coalesce(${after(3)}, '00000000-0000-0000-0000-000000000000')::uuid)`,
    order: sql`queue, priority, enqueued_at, task_id`,
    position: sql`array[walked.queue, walked.priority::text, ${instantText(sql`walked.enqueued_at`)}, walked.task_id::text]`,
    filter: sql`${wanted("worker")} is null and ${sentAsWanted(schema)}`,
  };
}

/** Served by finished_tasks_id_idx. The window counts ends of all statuses. */
function completedWalk(schema: SqlText): WalkText {
  return {
    from: sql`${schema}.finished_tasks as ended`,
    ...byId,
    filter: sql`
      walked.status is null and ${matchesTime(sql`walked.finished_at`)} and ${ofWorker(schema, sql`walked.worker_id`)}
      and ${matches("name", ofSubmission(schema, sql`name`))} and ${matches("queue", ofSubmission(schema, sql`queue`))}`,
  };
}

/** Served by the primary key of submissions; a worker's tasks by active_tasks_id_idx and finished_tasks_id_idx. */
function allWalk(schema: SqlText): WalkText {
  return {
    from: sql`${schema}.submissions as sent`,
    ...byId,
    filter: sql`
      ${matches("name", sql`walked.name`)} and ${matches("queue", sql`walked.queue`)} and ${matchesTime(sql`walked.sent_at`)}
      and (${wanted("worker")} is null
           or exists (select from ${schema}.active_tasks as held
                       where held.task_id = walked.task_id and ${ofWorker(schema, sql`held.worker_id`)} offset 0)
           or exists (select from ${schema}.finished_tasks as ended
                       where ended.task_id = walked.task_id and ${ofWorker(schema, sql`ended.worker_id`)} offset 0))`,
  };
}

/** Served by submissions_key_idx. One row, so that its view may be asked for everything else. */
function keyedWalk(schema: SqlText): WalkText {
  return {
    from: sql`${schema}.submissions as sent`,
    where: sql`key is not null and name = ${wanted("name")} and key = ${wanted("key")} and ${after(0)} is null`,
    order: sql`task_id`,
    position: sql`array[walked.task_id::text]`,
    filter: sql`exists (
      select from (select * from ${schema}.tasks where id = walked.task_id limit 1) as task
       where ${matches("status", sql`task.status`)} and ${matches("queue", sql`task.queue`)}
         and ${matches("errorCode", sql`task.error_code`)} and ${ofWorker(schema, sql`task.worker_id`)}
         and ${matchesTime(sql`coalesce(task.finished_at, task.sent_at)`)})`,
  };
}

const byId = {
  where: sql`task_id < coalesce(${after(0)}::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')`,
  order: sql`task_id desc`,
  position: sql`array[walked.task_id::text]`,
};

function wanted(field: string): SqlText {
  return sql`($1::jsonb ->> ${literal(field)})`;
}

function after(place: number): SqlText {
  return sql`($1::jsonb -> 'after' ->> ${String(place) as SqlText})`;
}

/** A name that is written in this file, as SQL. */
function literal(field: string): SqlText {
  return `'${field}'` as SqlText;
}

function matches(field: string, value: SqlText): SqlText {
  return sql`(${wanted(field)} is null or ${value} = ${wanted(field)})`;
}

function matchesTime(instant: SqlText): SqlText {
  return sql`(
    (${wanted("since")} is null or ${instant} >= ${wanted("since")}::timestamptz)
    and (${wanted("until")} is null or ${instant} < ${wanted("until")}::timestamptz))`;
}

/** The workers of a name are read once for a statement. */
function ofWorker(schema: SqlText, workerId: SqlText): SqlText {
  return sql`(${wanted("worker")} is null or ${workerId} = any (array(
    select named.worker_id from ${schema}.workers as named
     where named.worker_id::text = ${wanted("worker")} or named.name = ${wanted("worker")}))
    or ${workerId}::text = ${wanted("worker")})`;
}

function ofSubmission(schema: SqlText, column: SqlText): SqlText {
  return sql`(select sent.${column} from ${schema}.submissions as sent where sent.task_id = walked.task_id)`;
}

/** The conditions for rows that have no name and no time of sending; those that are asked for nothing of it are not looked up. */
function sentAsWanted(schema: SqlText): SqlText {
  return sql`(
    (${wanted("name")} is null and ${wanted("queue")} is null and ${wanted("since")} is null and ${wanted("until")} is null)
    or exists (
      select from ${schema}.submissions as sent
       where sent.task_id = walked.task_id and ${matches("name", sql`sent.name`)} and ${matches("queue", sql`sent.queue`)}
         and ${matchesTime(sql`sent.sent_at`)} offset 0))`;
}

/** In an order that text has too. */
function instantText(instant: SqlText): SqlText {
  return sql`to_char(${instant} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}
