import { sql, statement, type Db, type SqlText } from "../../sql.ts";

export interface NodeResults {
  readonly exists: boolean;
  /** The name of its task; null if it has none. */
  readonly task: string | null;
  /** Null: it has not ended. */
  readonly result: unknown;
  /** The results of a fan-out in the order of its items; null for an item that has not ended. */
  readonly items: readonly unknown[];
  /** Every node of the run, if this is none. */
  readonly ids: readonly string[];
}

/** One node of a run. Served by graph_nodes_name_idx and the primary key of workflow_nodes. */
export function readNodeResults(schema: SqlText) {
  const READ = statement(sql`
    select node.task_name as "task", ${schema}.workflow_items($1, $2) as "items",
           (select result from ${schema}.workflow_results($1, array[$2])) as "result"
      from ${schema}.workflows as run
      join ${schema}.graph_nodes as node
        on node.graph_id::text || '/' || node.id = run.graph_id::text || '/' || $2
     where run.workflow_id = $1`);

  const IDS = statement(sql`
    select node.id as "id" from ${schema}.workflows as run join ${schema}.graph_nodes as node using (graph_id)
     where run.workflow_id = $1 order by node.node_no`);

  return async (db: Db, workflowId: string, node: string): Promise<NodeResults> => {
    type Row = { task: string | null; result: string | null; items: string | null };
    const [row] = await db.query<Row>(READ, [workflowId, node]);
    if (row === undefined) {
      const ids = (await db.query<{ id: string }>(IDS, [workflowId])).map(({ id }) => id);
      return { exists: false, task: null, result: null, items: [], ids };
    }
    const { task, result, items } = row;
    return {
      exists: true,
      task,
      result: result === null ? null : (JSON.parse(result) as unknown),
      items: items === null ? [] : (JSON.parse(items) as unknown[]),
      ids: [],
    };
  };
}
