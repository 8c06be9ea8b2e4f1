import type { WorkflowGraph } from "../../../domain/workflow-graph.ts";
import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** The graph that a run was started with. By the primary keys of both tables. */
export function readGraph(schema: SqlText) {
  const READ = statement(sql`
    select stored.graph::text as "graph"
      from ${schema}.workflows as run join ${schema}.workflow_graphs as stored using (graph_id)
     where run.workflow_id = $1`);

  return async (db: Db, id: string): Promise<WorkflowGraph | undefined> => {
    const [row] = await db.query<{ graph: string }>(READ, [id]);
    return row === undefined ? undefined : (JSON.parse(row.graph) as WorkflowGraph);
  };
}
