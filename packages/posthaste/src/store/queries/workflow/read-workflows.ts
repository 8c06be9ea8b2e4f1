import type { WorkflowStatus } from "../../../domain/workflow-lifecycle.ts";
import { sql, statement, type Db, type SqlText, type Statement } from "../../sql.ts";

/** A run without what may be large. */
export interface ListedRun {
  readonly id: string;
  readonly graphId: number;
  readonly name: string;
  readonly version: number;
  readonly status: string;
  readonly key: string | null;
  readonly startedAt: Date;
  readonly pausedAt: Date | null;
  readonly cancelRequestedAt: Date | null;
  readonly endedAt: Date | null;
  readonly nodes: number;
  readonly completed: number;
  readonly failed: number;
  readonly skipped: number;
  /** JSON text. */
  readonly error: string | null;
  readonly rootId: string;
  readonly parentId: string | null;
  readonly parentNode: string | null;
  readonly parentItem: number | null;
}

export interface RunRow extends ListedRun {
  /** JSON text. */
  readonly input: string;
}

export interface RunFilter {
  readonly name?: string;
  readonly status?: WorkflowStatus;
  /** Also runs that are nested in others. */
  readonly nested: boolean;
  /** Only ids before this one. */
  readonly before: string;
  readonly limit: number;
}

/** One run, and lists of them. */
export function readWorkflows(schema: SqlText) {
  const FACTS = sql`
    run.workflow_id as "id", run.graph_id as "graphId", run.name as "name", graph.version as "version",
    state.status as "status", run.key as "key", run.started_at as "startedAt", state.paused_at as "pausedAt",
    state.cancel_requested_at as "cancelRequestedAt", state.ended_at as "endedAt", state.completed as "completed",
    state.failed as "failed", state.skipped as "skipped", state.error as "error", run.root_id as "rootId",
    run.parent_id as "parentId", run.parent_item as "parentItem",
    (select node.id from ${schema}.workflows as above
       join ${schema}.graph_nodes as node on node.graph_id = above.graph_id and node.node_no = run.parent_node
      where above.workflow_id = run.parent_id) as "parentNode"`;

  // By primary keys throughout.
  const ONE = statement(sql`
    select ${FACTS}, run.input as "input",
           (select count(*)::int from ${schema}.graph_nodes as node
             where node.graph_id = run.graph_id and not node.is_gate) as "nodes"
      from ${schema}.workflows as run
      join ${schema}.workflow_states as state on state.workflow_id = run.workflow_id
      join ${schema}.workflow_graphs as graph on graph.graph_id = run.graph_id
     where run.workflow_id = $1`);

  const STATE = statement(sql`
    select status as "status" from ${schema}.workflow_states where workflow_id = $1`);

  const states = sql`${schema}.workflows as run
          join ${schema}.workflow_states as state on state.workflow_id = run.workflow_id`;

  const listOf = (where: SqlText, runs = states): Statement =>
    statement(sql`
      with page as materialized (
        select ${FACTS}
          from ${runs}
          join ${schema}.workflow_graphs as graph on graph.graph_id = run.graph_id
         where run.workflow_id < $1 and state.workflow_id < $1 and ($3::boolean or run.parent_id is null) ${where}
         order by run.workflow_id desc
         limit $2
      ), counted as materialized (
        select graph_id, (count(*) filter (where not is_gate))::int as nodes
          from ${schema}.graph_nodes
         where graph_id = any (array(select distinct page."graphId" from page))
         group by graph_id
      )
      select page.*, counted.nodes as "nodes"
        from page join counted on counted.graph_id = page."graphId"
       order by page."id" desc`);

  // The status as a literal: with a parameter, a plan that is kept could use no partial index.
  const ofStatus: Readonly<Record<WorkflowStatus, SqlText>> = {
    // A PENDING run is not visible: its start is not committed.
    PENDING: sql`and false`,
    RUNNING: sql`and state.status = 'RUNNING' and state.ended_at is null`,
    PAUSED: sql`and state.status = 'PAUSED' and state.ended_at is null`,
    COMPLETED: sql`and state.status = 'COMPLETED'`,
    FAILED: sql`and state.status = 'FAILED'`,
    CANCELLED: sql`and state.status = 'CANCELLED'`,
  };
  const ofName = sql`and run.name = $4`;
  // Limited before the joins: a generic plan does not know that a name may be rare, and would walk the states of all runs. Written
  // as a range of both columns: by `name = $4` a plan made on an empty table walked the primary key. States are looked up one by one: a
  // generic plan expects a tenth of all runs.
  const named = sql`(
    select * from ${schema}.workflows
     where (name, workflow_id) < ($4, $1::uuid) and (name, workflow_id) >= ($4, '00000000-0000-0000-0000-000000000000')
       and ($3::boolean or parent_id is null)
     order by name desc, workflow_id desc
     limit $2) as run
    cross join lateral (
      select * from ${schema}.workflow_states where workflow_id = run.workflow_id limit 1) as state`;

  // Served by workflows_name_idx for a name, workflow_states_open_idx for open runs; FAILED and CANCELLED by
  // workflow_states_failed_idx; the rest by primary keys, newest first.
  const lists = (name: SqlText) => ({
    all: listOf(name),
    PENDING: listOf(sql`${ofStatus.PENDING} ${name}`),
    RUNNING: listOf(sql`${ofStatus.RUNNING} ${name}`),
    PAUSED: listOf(sql`${ofStatus.PAUSED} ${name}`),
    COMPLETED: listOf(sql`${ofStatus.COMPLETED} ${name}`),
    FAILED: listOf(sql`${ofStatus.FAILED} ${name}`),
    CANCELLED: listOf(sql`${ofStatus.CANCELLED} ${name}`),
  });
  const OF_ALL = lists(sql``);
  const OF_NAME = { ...lists(ofName), all: listOf(sql``, named) };

  return {
    async run(db: Db, id: string): Promise<RunRow | undefined> {
      const [row] = await db.query<RunRow>(ONE, [id]);
      return row;
    },
    async status(db: Db, id: string): Promise<string | undefined> {
      const [row] = await db.query<{ status: string }>(STATE, [id]);
      return row?.status;
    },
    /** Newest first, as far as ids are in the order of starting. */
    list(db: Db, { name, status, nested, before, limit }: RunFilter): Promise<ListedRun[]> {
      const list = (name === undefined ? OF_ALL : OF_NAME)[status ?? "all"];
      const values = [before, limit, nested];
      return db.query<ListedRun>(list, name === undefined ? values : [...values, name]);
    },
  };
}
