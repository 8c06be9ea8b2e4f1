import { sql, statement, type Db, type SqlText } from "../../sql.ts";
import { readNotifications, type RunNotifications } from "./advance-workflows.ts";

export interface NewRun {
  readonly id: string;
  readonly graphId: number;
  /** JSON text. */
  readonly input: string;
  readonly key: string | undefined;
}

/** A run that stands where another was to be started. */
export interface StandingRun {
  /** The id that was asked for. */
  readonly askedId: string;
  readonly id: string;
  readonly by: "id" | "key";
  readonly sameName: boolean;
  readonly sameInput: boolean;
}

/** Starts runs, many in one statement: their rows, and the tasks of the nodes that need nothing. See functions/workflow_advance.sql. */
export function startWorkflows(schema: SqlText) {
  const STORE_GRAPH = statement(
    sql`select ${schema}.store_graph($1, $2::text::jsonb) as "graphId"`,
  );

  const START = statement(sql`
    select ${schema}.start_workflows($1::uuid[], $2::int[], $3::text[]::jsonb[], $4::text[])::text as "reply"`);

  // By the primary key and by workflows_key_idx.
  const MATCH = statement(sql`
    with asked as materialized (
      select asked.id, asked.key, asked.input, graph.name
        from unnest($1::uuid[], $2::int[], $3::text[]::jsonb[], $4::text[]) as asked (id, graph, input, key)
        join ${schema}.workflow_graphs as graph on graph.graph_id = asked.graph
    )
    select asked.id as "askedId", standing.workflow_id as "id", 'key' as "by", true as "sameName",
           standing.input = asked.input as "sameInput"
      from asked
     cross join lateral (
       select workflow_id, input from ${schema}.workflows
        where name = asked.name and key = asked.key limit 1
     ) as standing
    union all
    select asked.id, standing.workflow_id, 'id', standing.name = asked.name, standing.input = asked.input
      from asked
     cross join lateral (
       select workflow_id, name, input from ${schema}.workflows where workflow_id = asked.id limit 1
     ) as standing`);

  return {
    /** The number under which a graph is stored. Nested graphs are stored first. `graph` is JSON text. */
    async storeGraph(db: Db, digest: string, graph: string): Promise<number> {
      const [row] = await db.query<{ graphId: number }>(STORE_GRAPH, [digest, graph]);
      if (row === undefined) throw new Error("store_graph() returned nothing");
      return row.graphId;
    },
    /** Starts only runs that do not exist and whose graph is stored. */
    async start(
      db: Db,
      runs: readonly NewRun[],
    ): Promise<{ readonly started: readonly string[]; readonly notifications: RunNotifications }> {
      const [row] = await db.query<{ reply: string }>(START, values(runs));
      const { started } = JSON.parse(row?.reply ?? "{}") as { started?: readonly string[] };
      return { started: started ?? [], notifications: readNotifications(row?.reply ?? null) };
    },
    match: (db: Db, runs: readonly NewRun[]): Promise<StandingRun[]> =>
      db.query<StandingRun>(MATCH, values(runs)),
  };
}

function values(runs: readonly NewRun[]): unknown[] {
  return [
    runs.map(({ id }) => id),
    runs.map(({ graphId }) => graphId),
    runs.map(({ input }) => input),
    runs.map(({ key }) => key ?? null),
  ];
}
