/** What must have happened to workflows at least once, or a run has shown nothing about them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import type { Crew } from "./crew.ts";
import { readClientNotes } from "./ledger.ts";
import { countRows, type Sometimes } from "./sometimes.ts";

/** By what it is, a statement that counts it. */
const IN_THE_BOOKS: Readonly<Record<string, string>> = {
  "a run completed": "select from posthaste.workflow_states where status = 'COMPLETED'",
  "a run failed": "select from posthaste.workflow_states where status = 'FAILED'",
  "a run cancelled": "select from posthaste.workflow_states where status = 'CANCELLED'",
  "a run cancelled while something of it ran": `
    select from chaos.edges e join posthaste.submissions s using (task_id)
     where s.workflow_id is not null and e.from_status = 'RUNNING' and e.to_status = 'CANCELLED'`,
  "a run paused by a failure":
    "select from chaos.run_journal where status = 'PAUSED' and said_by <> 'posthaste workflows'",
  "a task taken back because its run was paused": "select from chaos.taken_back",
  "a node started over": "select from posthaste.earlier_nodes where status = 'FAILED'",
  "an item of a fan-out started over": `
    select from posthaste.earlier_nodes where status = 'FAILED' and item >= 0`,
  "a nested run completed": `
    select from posthaste.workflows join posthaste.workflow_states using (workflow_id)
     where parent_id is not null and status = 'COMPLETED'`,
  "a fan-out over nothing":
    "select from posthaste.workflow_nodes where item = -1 and items_left = 0 and items_failed = 0 and not exists (select from posthaste.workflow_nodes i where i.workflow_id = workflow_nodes.workflow_id and i.node_no = workflow_nodes.node_no and i.item >= 0)",
  "a node skipped": `
    select from posthaste.workflow_nodes n join posthaste.graph_nodes g using (graph_id, node_no)
     where n.status = 'SKIPPED' and not g.is_gate`,
  "a join met before all its sources had ended": `
    select from posthaste.workflow_nodes n join posthaste.graph_nodes g using (graph_id, node_no)
     where g.kind in ('any', 'quorum') and n.status = 'COMPLETED' and cardinality(n.chosen) < g.needs`,
  "a node expired": `
    select from posthaste.finished_tasks f join posthaste.submissions s using (task_id)
     where f.status = 'EXPIRED' and s.workflow_id is not null`,
  "a node tried again":
    "select from posthaste.attempts join posthaste.submissions using (task_id) where workflow_id is not null",
  "a node recovered from a worker that was killed": `
    select from posthaste.recoveries r join posthaste.submissions s using (task_id)
     where s.workflow_id is not null and r.reason = 'worker crashed'`,
  "a node started by the transaction that ended the one before it": `
    select from posthaste.submissions as s
      join chaos.edges as e using (task_id)
     where s.workflow_id is not null and e.to_status = 'RUNNING' and exists (
       select from chaos.edges as d
        where d.xid = e.xid and d.task_id <> e.task_id and d.from_status = 'RUNNING')`,
  "a payment of a node in the transaction of its end": `
    select from chaos.paid join posthaste.submissions using (task_id) where workflow_id is not null`,
  "two nodes of a run that ended in one transaction": `
    select from chaos.node_journal where task_id is not null and status in ('COMPLETED', 'FAILED')
     group by xid, workflow_id having count(*) > 1`,
};

export async function countRunSometimes(
  client: pg.Client,
  { crew, folder }: { readonly crew: Crew; readonly folder: string },
): Promise<Sometimes[]> {
  const found: Sometimes[] = [];
  for (const [what, statement] of Object.entries(IN_THE_BOOKS)) {
    found.push({ what, times: await countRows(client, statement) });
  }
  const notes = readClientNotes(folder).filter(({ type }) => type === "ok");
  const answered = (op: string, ...answers: readonly unknown[]): number =>
    notes.filter((note) => note.op === op && answers.includes(note.answer)).length;
  found.push(
    { what: "a pause that hit a run", times: answered("pause run", true) },
    { what: "a resume that let a run go on", times: answered("resume run", true) },
    { what: "a cancel that hit a run", times: answered("cancel run", "cancelled", "requested") },
    { what: "a cancel that came too late for its run", times: answered("cancel run", "finished") },
    { what: "a retryFrom that hit a run", times: answered("retry run", null) },
    { what: "a fan-out during a fault", times: await countDuringFaults(client, folder) },
    {
      what: "the end of a node whose acknowledgement was lost",
      times: crew.members.reduce((sum, { wire }) => sum + wire.lost["node end"], 0),
    },
  );
  return found;
}

/** Fan-outs that were made in the time of a fault. */
async function countDuringFaults(client: pg.Client, folder: string): Promise<number> {
  const faults = readFileSync(join(folder, "nemesis.jsonl"), "utf8")
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line) as { began: string; ended?: string; did?: string })
    .filter(({ did, ended }) => did !== undefined && ended !== undefined);
  return countRows(
    client,
    `select from chaos.node_journal j
      where item = 0 and status_before is null
        and exists (
          select from jsonb_to_recordset($1::jsonb) as fault (began timestamptz, ended timestamptz)
           where j.at between fault.began and fault.ended)`,
    [JSON.stringify(faults)],
  );
}
