/** How runs and their nodes go, over their whole history. What can be seen at rest is in test/support/broken-workflow-laws.ts. */
import { NODE_TERMINAL_STATES } from "../../packages/posthaste/src/domain/workflow-lifecycle.ts";
import type { Law } from "./law.ts";

const ENDED = NODE_TERMINAL_STATES.map((status) => `'${status}'`).join(", ");

const RUN_EDGES = [
  ["RUNNING", "PAUSED"],
  ["RUNNING", "COMPLETED"],
  ["RUNNING", "FAILED"],
  ["RUNNING", "CANCELLED"],
  ["PAUSED", "RUNNING"],
  ["PAUSED", "CANCELLED"],
  ["FAILED", "RUNNING"],
]
  .map(([from, to]) => `('${from}', '${to}')`)
  .join(", ");

export const runLaws: readonly Law[] = [
  {
    says: "every acknowledged start is a run",
    broken: `
      select workflow_id::text as task, null::bigint as seq, 'none' as detail
        from (select workflow_id from chaos.started_runs except select workflow_id from posthaste.workflows) as missing`,
  },
  {
    says: "only edges of a run's life occur",
    broken: `
      select workflow_id::text as task, seq, coalesce(status_before, 'nothing') || ' to ' || coalesce(status, 'nothing') as detail
        from chaos.run_journal
       where status is distinct from status_before
         and not (status_before is null and status = 'RUNNING')
         and (status_before is null or status is null or (status_before, status) not in (${RUN_EDGES}))`,
  },
  {
    says: "the end of a node changes only when it is started over",
    broken: `
      select workflow_id::text as task, seq,
             'node ' || node_no || '/' || item || ' ' || status_before || ' to ' || coalesce(status, 'nothing') as detail
        from chaos.node_journal
       where status_before in (${ENDED}) and status is distinct from status_before
         and not (retries > retries_before)
         -- Items of a fan-out that is started over are kept as what they were, and made anew.
         and not (status is null and item >= 0)`,
  },
  {
    says: "nodes are started over only where that was asked for",
    broken: `
      select e.workflow_id::text as task, null::bigint as seq, 'node ' || e.node_no || '/' || e.item || ', time ' || e.retries as detail
        from posthaste.earlier_nodes e
       where not exists (select from chaos.asked_retries r where r.workflow_id = e.workflow_id)`,
  },
  {
    // In the order of their generations: what was behind a failure once need not be behind one the next time.
    says: "a node that was COMPLETED is started over only behind one that FAILED",
    broken: `
      with recursive behind as (
        select e.workflow_id, w.graph_id, e.node_no, e.node_no as failed_no
          from posthaste.earlier_nodes e join posthaste.workflows w using (workflow_id)
         where e.status = 'FAILED' and e.item = -1
        union
        select b.workflow_id, b.graph_id, g.to_no, b.failed_no
          from behind b join posthaste.graph_edges g on g.graph_id = b.graph_id and g.from_no = b.node_no
      )
      select e.workflow_id::text as task, null::bigint as seq, 'node ' || e.node_no || '/' || e.item || ', time ' || e.retries as detail
        from posthaste.earlier_nodes e
       where e.status = 'COMPLETED'
         and not exists (
           select from behind b
            where b.workflow_id = e.workflow_id and b.node_no = e.node_no and b.failed_no <> e.node_no)`,
  },
  {
    says: "what follows is sent in the commit that ended what it needs, or that let its run go on",
    broken: `
      select j.workflow_id::text as task, j.seq, 'node ' || j.node_no || ' sent alone in ' || j.xid as detail
        from chaos.node_journal j
       where j.status = 'ENQUEUED'
         and not exists (
           select from chaos.node_journal e where e.xid = j.xid and e.seq < j.seq and e.status in (${ENDED}))
         and not exists (
           select from chaos.run_journal r where r.xid = j.xid and r.status = 'RUNNING')`,
  },
  {
    says: "only what has not begun is taken back",
    broken: `
      select t.task_id::text as task, c.run_seq as seq, 'had begun under claim ' || c.claim_id as detail
        from chaos.taken_back t join chaos.claims c using (task_id)
       where c.run_seq is not null
      union all
      select t.task_id::text, null, 'a body ran under claim ' || e.claim_id
        from chaos.taken_back t join chaos.effects e using (task_id)`,
  },
  {
    says: "tasks are taken back only when their run is paused",
    broken: `
      select t.task_id::text as task, null::bigint as seq, 'of run ' || coalesce(t.workflow_id::text, 'none') as detail
        from chaos.taken_back t
       where not exists (
         select from chaos.run_journal r
          where r.workflow_id = t.workflow_id and r.xid = t.xid and r.status = 'PAUSED')`,
  },
  {
    says: "nothing of a run is sent while it is paused or cancelled",
    broken: `
      select s.workflow_id::text as task, h.seq,
             s.node || ' sent ' || j.at || case when h.is_cancelling then ', cancelled ' else ', paused ' end || h.since as detail
        from chaos.halts h
        join posthaste.submissions s using (workflow_id)
        join chaos.journal j on j.task_id = s.task_id and j.op = 'in' and j.status = 'PENDING' and j.attempt_no = 0
       where j.at > h.since and j.at < h.until
         and not exists (select from chaos.journal b where b.task_id = j.task_id and b.seq < j.seq)`,
  },
  {
    // What had begun goes on with its retries.
    says: "nothing of a run begins while it is paused",
    broken: `
      select s.workflow_id::text as task, h.seq, s.node || ' began ' || e.at || ', paused ' || h.since as detail
        from chaos.halts h
        join posthaste.submissions s using (workflow_id)
        join chaos.edges e on e.task_id = s.task_id and e.to_status = 'RUNNING' and e.attempt_no = 1
       where not h.is_cancelling and e.at > h.since and e.at < h.until`,
  },
  {
    says: "nothing of a run begins after it was cancelled",
    broken: `
      select s.workflow_id::text as task, h.seq, s.node || ' began ' || e.at || ', cancelled ' || h.since as detail
        from chaos.halts h
        join posthaste.submissions s using (workflow_id)
        join chaos.edges e on e.task_id = s.task_id and e.to_status = 'RUNNING'
       where h.is_cancelling and e.at > h.since and e.at < h.until`,
  },
  {
    says: "a run whose cancel was answered cancelled or requested ends CANCELLED",
    broken: `
      select c.workflow_id::text as task, null::bigint as seq, c.answer || ', and yet ' || s.status as detail
        from chaos.cancelled_runs c join posthaste.workflow_states s using (workflow_id)
       where c.answer in ('cancelled', 'requested') and s.status <> 'CANCELLED'`,
  },
  {
    says: "what is nested in a run is cancelled with it",
    broken: `
      select w.workflow_id::text as task, null::bigint as seq,
             s.status || ' after ' || w.parent_id || ' was cancelled' as detail
        from posthaste.workflows w
        join posthaste.workflow_states s using (workflow_id)
        join posthaste.workflow_states above on above.workflow_id = w.parent_id
       where s.ended_at > above.cancel_requested_at and s.status <> 'CANCELLED'`,
  },
  {
    // A run that failed may have been started over since.
    says: "whoever waited for a run read what is stored",
    broken: `
      select a.workflow_id::text as task, null::bigint as seq,
             'read ' || a.result::text || ', stored ' || coalesce(s.status, 'nothing') || coalesce(' ' || s.result::text, '') as detail
        from chaos.awaited_runs a left join posthaste.workflow_states s using (workflow_id)
       where case when (a.result -> 'ok')::boolean
                  then s.status is distinct from 'COMPLETED' or a.result -> 'value' is distinct from s.result
                  else not exists (select from chaos.asked_retries r where r.workflow_id = a.workflow_id)
                   and (coalesce(s.status, 'none') not in ('FAILED', 'CANCELLED')
                        or a.result -> 'error' ->> 'code' is distinct from s.error ->> 'code') end`,
  },
  {
    says: "every run has ended",
    broken: `
      select workflow_id::text as task, null::bigint as seq, status || ', ' || open_nodes || ' nodes open' as detail
        from posthaste.workflow_states where ended_at is null`,
  },
];
