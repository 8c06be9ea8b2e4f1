/** Lists the events of schedules and the actions of operators that a run must see at least once. */
import type pg from "pg";
import type { Crew } from "./crew.ts";
import { readClientNotes } from "./ledger.ts";
import type { Nemesis } from "./nemesis.ts";
import { countRows, type Sometimes } from "./sometimes.ts";

/** Firings with the session that fired before, and the one that fired behind it. */
const IN_TURNS = `
  select f.*, lag(pid) over line as pid_before, lead(pid) over line as pid_after
    from chaos.firing_journal f where not triggered window line as (order by seq)`;

const fired = (which: string): string =>
  `select from chaos.firing_journal where skipped is null and not triggered and ${which}`;
const retried = (status: string): string =>
  `select from chaos.retry_journal where status = '${status}'`;

/** By what it is, a statement that counts it. The journal must be closed. */
const IN_THE_BOOKS: Readonly<Record<string, string>> = {
  "a slot fired in time": fired("at < slot + interval '1 second'"),
  "a slot fired late": fired("at > slot + interval '2 seconds'"),
  "a slot fired by a process that does not lead": `
    select from (${IN_TURNS}) as turns where pid <> pid_before and pid_before = pid_after`,
  "a run started by a schedule": fired("run_id is not null"),
  "a schedule triggered by hand": "select from chaos.firing_journal where triggered",
  "a slot skipped because it was missed":
    "select from chaos.firing_journal where skipped = 'missed'",
  "several missed slots fired": `
    select from chaos.firing_journal where skipped is null and not triggered
     group by schedule, xid having count(*) > 1`,
  "a slot skipped for an overlap": "select from chaos.firing_journal where skipped = 'overlap'",
  "a slot that waited for an end, and fired": `
    select from chaos.firing_journal f join chaos.schedule_journal m using (schedule, xid)
     where f.skipped is null and not f.triggered and f.slot = m.buffered_before`,
  "a task cancelled because it overlapped with the next slot": `
    select from (
      select distinct on (j.task_id) j.xid from chaos.journal j join chaos.firing_journal f using (task_id)
       where f.schedule like '%cancel%' and j.cancel_requested_at is not null order by j.task_id, j.seq) as asked
     where not exists (select from chaos.action_journal a where a.xid = asked.xid)`,
  "the pattern of a schedule changed": `
    select from chaos.schedule_journal where op = 'UPDATE' and not is_same_pattern`,
  "a schedule deleted": "select from chaos.schedule_journal where op = 'DELETE'",
  "a schedule paused by an operator": `
    select from chaos.schedule_journal where op = 'UPDATE' and is_paused and not was_paused`,
  "a FAILED task retried": retried("FAILED"),
  "a CANCELLED task retried": retried("CANCELLED"),
  "an EXPIRED task retried": retried("EXPIRED"),
  "a retried task that COMPLETED": `
    select from posthaste.finished_tasks f where f.status is null
       and exists (select from chaos.retry_journal r where r.task_id = f.task_id)`,
  "a task retried twice": "select from chaos.retry_journal group by task_id having count(*) > 1",
  "several tasks retried by one transaction":
    "select from chaos.retry_journal group by xid having count(*) > 1",
  "several tasks cancelled by one action": `
    select from chaos.action_journal where action = 'cancel tasks' and more > 1`,
  "a task moved in its queue":
    "select from chaos.action_journal where action in ('run now', 'set priority') and more > 0",
  "a task sent again": "select from posthaste.submissions where copy_of is not null",
  "a task deleted": "select from chaos.deleted",
};

/** By what it is, the fault that does it. */
const BY_NEMESIS: Readonly<Record<string, string>> = {
  "a scheduler killed in the middle of a firing": "a scheduler killed while it fires",
  "a scheduler cut off in the middle of a firing": "a scheduler cut off while it fires",
};

export async function countOperateSometimes(
  client: pg.Client,
  {
    crew,
    nemesis,
    folder,
  }: { readonly crew: Crew; readonly nemesis: Nemesis; readonly folder: string },
): Promise<Sometimes[]> {
  const found: Sometimes[] = [];
  for (const [what, statement] of Object.entries(IN_THE_BOOKS)) {
    found.push({ what, times: await countRows(client, statement) });
  }
  for (const [what, fault] of Object.entries(BY_NEMESIS)) {
    found.push({ what, times: nemesis.counts[fault] ?? 0 });
  }
  found.push(
    { what: "a retry that came later than another one", times: countLostRaces(folder) },
    {
      what: "a late end of an earlier series refused",
      times: await countRows(client, LATE_ENDS, [JSON.stringify(lateEnds(crew))]),
    },
  );
  return found;
}

/** Tasks of which two operators wanted a retry at once: one got it. */
function countLostRaces(folder: string): number {
  return readClientNotes(folder).filter(
    ({ op, answer }) => op === "operator: race for a retry" && answer === "unfinished",
  ).length;
}

const LATE_ENDS = `
  select from jsonb_to_recordset($1::jsonb) as told (task uuid, time timestamptz)
   where exists (select from chaos.retry_journal r where r.task_id = told.task and r.at < told.time)`;

/** Lines of workers that dropped an end. */
function lateEnds(crew: Crew): Readonly<Record<string, unknown>>[] {
  return crew.log.filter(({ message }) => String(message).endsWith("dropping its late result"));
}
