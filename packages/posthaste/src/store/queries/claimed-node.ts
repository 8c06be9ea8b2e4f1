import { sql, type SqlText } from "../sql.ts";

/** What a claim tells of a task that is a node of a run. */
export interface ClaimedNode {
  readonly workflowId: string;
  /** The workflow's name. */
  readonly workflow: string;
  /** The node's id, with its number if it is an item of a fan-out: `parcels[3]`. */
  readonly node: string;
  /** Of the run. */
  readonly input: unknown;
  /**
   * Its deadline has passed: it must not run. A claim ends plain tasks of that kind by itself; the end of a node moves its
   * run, under a lock that a claim must not wait for, so that is left to whoever claimed it.
   */
  readonly isLate: boolean;
}

/**
 * Asked only of tasks whose deadline has passed. Not `exists`: the planner may hash all of submissions for that, once for
 * every statement.
 */
export function isNode(schema: SqlText, taskId: SqlText): SqlText {
  return sql`coalesce((
    select of_node.workflow_id is not null from ${schema}.submissions as of_node
     where of_node.task_id = ${taskId} limit 1), false)`;
}

/** A column of JSON; null for the tasks that are no nodes. `submission` has workflow_id and node. */
export function claimedNode(schema: SqlText, goodUntil: SqlText): SqlText {
  return sql`
    case when submission.workflow_id is not null then (
      select jsonb_build_object(
               'workflowId', run.workflow_id, 'workflow', run.name, 'node', submission.node, 'input', run.input,
               'isLate', coalesce(${goodUntil} <= statement_timestamp(), false))
        from ${schema}.workflows as run where run.workflow_id = submission.workflow_id) end`;
}

export function readNode(json: string | null): ClaimedNode | undefined {
  return json === null ? undefined : (JSON.parse(json) as ClaimedNode);
}
