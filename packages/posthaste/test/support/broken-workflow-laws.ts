/** The laws of workflows that hold after anything, as far as rows at rest can show them. */

const ENDED = "('COMPLETED', 'FAILED', 'SKIPPED')";

/** Of each run: its nodes, gates included, recounted. */
const RECOUNTED = `(
  select n.workflow_id, count(*)::int as nodes,
         (count(*) filter (where n.status not in ${ENDED}))::int as open_nodes,
         (count(*) filter (where n.status = 'COMPLETED' and not g.is_gate))::int as completed,
         (count(*) filter (where n.status = 'SKIPPED' and not g.is_gate))::int as skipped,
         (count(*) filter (where n.status = 'FAILED'))::int as failed,
         (count(*) filter (where n.status = 'FAILED' and not g.is_optional))::int as failed_required
    from posthaste.workflow_nodes n join posthaste.graph_nodes g using (graph_id, node_no)
   where n.item = -1
   group by n.workflow_id
)`;

/** A run ends with its nodes, and its counters count them. A PAUSED run whose nodes have all ended waits for its resume. */
const RUNS = `
  select 'a run has ended before all its nodes' as law, s.workflow_id::text as task, counted.open_nodes as figure
    from posthaste.workflow_states s join ${RECOUNTED} as counted using (workflow_id)
   where s.ended_at is not null and counted.open_nodes > 0
  union all
  select 'a run goes on although all its nodes have ended', s.workflow_id::text, coalesce(counted.nodes, 0)
    from posthaste.workflow_states s left join ${RECOUNTED} as counted using (workflow_id)
   where s.ended_at is null and coalesce(counted.open_nodes, 0) = 0
     and (s.status = 'RUNNING' or s.cancel_requested_at is not null)
  union all
  select 'the counters of a run are not what its nodes are', s.workflow_id::text, s.open_nodes
    from posthaste.workflow_states s join ${RECOUNTED} as counted using (workflow_id)
   where (s.open_nodes, s.completed, s.skipped, s.failed, s.failed_required)
      is distinct from
         (counted.open_nodes, counted.completed, counted.skipped, counted.failed, counted.failed_required)
  union all
  select 'a run without a state, or a state without a run', coalesce(w.workflow_id, s.workflow_id)::text, 0
    from posthaste.workflows w full join posthaste.workflow_states s using (workflow_id)
   where w.workflow_id is null or s.workflow_id is null`;

/** Fan-outs count their items, and nodes that wait what they wait for. */
const COUNTERS = `
  select 'a fan-out does not count its items right', n.workflow_id::text, n.items_left
    from posthaste.workflow_nodes n
   cross join lateral (
     select (count(*) filter (where i.status not in ${ENDED}))::int as open_items,
            (count(*) filter (where i.status in ('FAILED', 'SKIPPED')))::int as failed_items
       from posthaste.workflow_nodes i
      where i.workflow_id = n.workflow_id and i.node_no = n.node_no and i.item >= 0
   ) as counted
   where n.item = -1 and n.items_left is not null and n.status <> 'READY'
     and (n.items_left, n.items_failed) is distinct from (counted.open_items, counted.failed_items)
  union all
  select 'a node that waits does not count its needs right', n.workflow_id::text, n.node_no
    from posthaste.workflow_nodes n
   cross join lateral (
     select (count(*) filter (where source.status = 'COMPLETED'
                                 or (e.accepts_end and source.status in ${ENDED})))::int as deps_met,
            (count(*) filter (where not e.accepts_end and source.status in ('FAILED', 'SKIPPED')))::int as deps_failed
       from posthaste.graph_edges e
       join posthaste.workflow_nodes source
         on source.workflow_id = n.workflow_id and source.node_no = e.from_no and source.item = -1
      where e.graph_id = n.graph_id and e.to_no = n.node_no
   ) as counted
   where n.item = -1 and n.status = 'PENDING' and (n.deps_met, n.deps_failed) is distinct from (counted.deps_met, counted.deps_failed)
  union all
  select 'a node waits for nothing', n.workflow_id::text, n.node_no
    from posthaste.workflow_nodes n join posthaste.graph_nodes g using (graph_id, node_no)
   where n.item = -1 and n.status = 'PENDING' and (n.deps_met >= g.required or g.needs - n.deps_failed < g.required)
  union all
  select 'a node could start in a run that goes on', n.workflow_id::text, n.node_no
    from posthaste.workflow_nodes n join posthaste.workflow_states s using (workflow_id)
   where n.status = 'READY' and s.status = 'RUNNING'`;

/** One task for each node, and no task that belongs to none. */
const TASKS = `
  select 'a node is in the line, and its task is not there or has ended', n.workflow_id::text, n.node_no
    from posthaste.workflow_nodes n
   where n.status = 'ENQUEUED'
     and not exists (select from posthaste.ready_tasks t where t.task_id = n.task_id)
     and not exists (select from posthaste.active_tasks t where t.task_id = n.task_id)
  union all
  select 'a node has ended, and its task has not', n.workflow_id::text, n.node_no
    from posthaste.workflow_nodes n
   where n.status in ${ENDED}
     and (exists (select from posthaste.ready_tasks t where t.task_id = n.task_id)
       or exists (select from posthaste.active_tasks t where t.task_id = n.task_id))
  union all
  select 'a node is COMPLETED, and its task is not', n.workflow_id::text, n.node_no
    from posthaste.workflow_nodes n left join posthaste.finished_tasks f using (task_id)
   where n.status = 'COMPLETED' and n.task_id is not null and (f.task_id is null or f.status is not null)
  union all
  select 'a node that has not begun has a task or a nested run', n.workflow_id::text, n.node_no
    from posthaste.workflow_nodes n
   where n.status in ('PENDING', 'READY') and coalesce(n.task_id, n.child_id) is not null
  union all
  select 'a task of a run belongs to none of its nodes, or to several', s.task_id::text, count(owner.task_id)::int
    from posthaste.submissions s
    left join (
      select workflow_id, task_id from posthaste.workflow_nodes
      union all
      select workflow_id, task_id from posthaste.earlier_nodes
    ) as owner using (workflow_id, task_id)
   where s.workflow_id is not null
   group by s.task_id having count(owner.task_id) <> 1`;

/** Runs that are nested, and the nodes that they are nested in. */
const NESTED = `
  select 'a nested run does not hang on the root of its parent', w.workflow_id::text, 0
    from posthaste.workflows w left join posthaste.workflows above on above.workflow_id = w.parent_id
   where w.root_id is distinct from coalesce(above.root_id, case when w.parent_id is null then w.workflow_id end)
  union all
  select 'a nested run belongs to no node, or to several', w.workflow_id::text, count(owner.child_id)::int
    from posthaste.workflows w
    left join (
      select workflow_id, node_no, item, child_id from posthaste.workflow_nodes
      union all
      select workflow_id, node_no, item, child_id from posthaste.earlier_nodes
    ) as owner
      on owner.workflow_id = w.parent_id and owner.node_no = w.parent_node and owner.item = w.parent_item
     and owner.child_id = w.workflow_id
   where w.parent_id is not null
   group by w.workflow_id having count(owner.child_id) <> 1
  union all
  select 'a nested run has ended, and its node has not, or the other way round', n.workflow_id::text, n.node_no
    from posthaste.workflow_nodes n left join posthaste.workflow_states s on s.workflow_id = n.child_id
   where n.child_id is not null and (n.status in ${ENDED}) is distinct from (s.ended_at is not null)
  union all
  select 'a node runs that has neither items nor a nested run', n.workflow_id::text, n.node_no
    from posthaste.workflow_nodes n
   where n.status = 'RUNNING' and n.child_id is null and n.items_left is null`;

export const BROKEN_WORKFLOW_LAWS = [RUNS, COUNTERS, TASKS, NESTED].join(" union all ");
