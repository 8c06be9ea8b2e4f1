/**
 * What must have happened at least once, or a run has shown nothing: that no law was broken while nothing interesting
 * happened is no proof.
 */
import type pg from "pg";
import type { Crew } from "./crew.ts";
import { readClientNotes } from "./ledger.ts";
import type { Nemesis } from "./nemesis.ts";
import { NARROW_CAP } from "./tasks.ts";

export interface Sometimes {
  readonly what: string;
  readonly times: number;
}

function recovered(which: string): string {
  return `select from posthaste.recoveries where ${which}`;
}

/** By what it is, a statement that counts it. The journal must be closed. */
const IN_THE_BOOKS: Readonly<Record<string, string>> = {
  "a task completed": "select from posthaste.finished_tasks where status is null",
  "a task completed by its third attempt or later":
    "select from posthaste.finished_tasks where status is null and attempt_no >= 3",
  "a claimed task taken from a worker that was gone": recovered(
    "status = 'CLAIMED' and decision = 'release'",
  ),
  "a running task taken from a worker that was gone, and tried again":
    recovered("decision = 'retry'"),
  "a running task taken from a worker that was gone, and its attempt given back": recovered(
    "decision = 'requeue' and reason <> 'shutdown'",
  ),
  "a running task taken from a worker that was gone, and failed": recovered("decision = 'fail'"),
  "a task taken from a worker that crashed": recovered("reason = 'worker crashed'"),
  "a task taken from a silent worker": recovered("reason in ('run stale', 'worker silent')"),
  "a task that kills its worker ended":
    "select from posthaste.tasks where name = 'poison' and status = 'FAILED'",
  "a worker declared dead": "select from posthaste.workers where died_at is not null",
  "a task expired": "select from posthaste.finished_tasks where status = 'EXPIRED'",
  "a task cancelled before it ran": `
    select from chaos.edges where from_status in ('PENDING', 'CLAIMED') and to_status = 'CANCELLED'`,
  "a task cancelled while it ran": `
    select from chaos.edges where from_status = 'RUNNING' and to_status = 'CANCELLED'`,
  "a task prefetched and started": `
    select from chaos.edges where from_status = 'CLAIMED' and to_status = 'RUNNING'`,
  "a task given back by a worker that stopped": `
    select from chaos.edges where from_status = 'CLAIMED' and to_status = 'PENDING'
       and said_by in ('posthaste worker', 'posthaste ends')`,
  "a task fetched ahead as running, and given back before it began": `
    select from chaos.edges where from_status = 'RUNNING' and to_status = 'PENDING' and attempt_no < run_before`,
  "a task sent by another task": "select from posthaste.submissions where name = 'child'",
  "a payment in the transaction of its completion": "select from chaos.paid",
  "a queue at its cap": `
    select from (
      select sum(delta) over (order by at, delta) as at_once from (
        select run_at as at, 1 as delta from chaos.claims where run_at is not null and queue = 'narrow'
        union all select end_committed_at, -1 from chaos.claims where run_at is not null and queue = 'narrow') as moves
    ) as sums where at_once = ${NARROW_CAP}`,
};

/** Where a worker sends for itself. */
const STARTED_AT_ONCE = "select from chaos.edges where is_first and to_status = 'RUNNING'";

/** By what it is, what a worker says of it. */
const IN_THE_LOGS: Readonly<Record<string, RegExp>> = {
  "a late end refused": /dropping its late result$/,
  "a claim whose acknowledgement was lost, run all the same":
    /^found claims whose confirmation was lost/,
  "a database found away and back": /^database reachable again/,
  "a worker that lives, declared dead, and registered anew":
    /^worker declared dead by other workers/,
  "a worker that stored no heartbeat for too long and aborted its tasks":
    /^no heartbeat stored for too long/,
  "a process that ended itself, because its event loop was blocked": /^event loop blocked; ending/,
  "an event loop that was blocked, and reported": /^event loop was blocked/,
  "a handler told that its claim is lost": /^claim lost, .* aborting its handler$/,
};

/** By what it is, the faults that do it. */
const BY_NEMESIS: Readonly<Record<string, RegExp>> = {
  "a worker killed": /^killed$/,
  "a worker frozen beyond the thresholds": /^frozen beyond/,
  "a worker told to stop": /^told to stop$/,
  "links cut": /cut/,
  "a network that fell silent": /^a network that/,
  "a send whose acknowledgement was lost": /^acknowledgement of a send lost$/,
  "a listener's session ended": /^a listener ended$/,
  "a session ended": /^a session ended$/,
  "the server restarted without a goodbye": /^server restarted/,
  "rows locked by another session": /^rows of running tasks locked$/,
};

export async function countSometimes(
  client: pg.Client,
  { crew, nemesis, folder }: { crew: Crew; nemesis: Nemesis; folder: string },
): Promise<Sometimes[]> {
  const found: Sometimes[] = [];
  for (const [what, statement] of Object.entries(IN_THE_BOOKS)) {
    found.push({ what, times: await countRows(client, statement) });
  }
  if (crew.members.some(({ sendsItself }) => sendsItself)) {
    found.push({
      what: "a task started by the statement that sent it",
      times: await countRows(client, STARTED_AT_ONCE),
    });
  }
  const said = crew.log.map(({ message }) => String(message));
  for (const [what, words] of Object.entries(IN_THE_LOGS)) {
    found.push({ what, times: said.filter((message) => words.test(message)).length });
  }
  for (const [what, fault] of Object.entries(BY_NEMESIS)) {
    const inflicted = Object.entries(nemesis.counts).filter(([name]) => fault.test(name));
    found.push({ what, times: inflicted.reduce((sum, [, times]) => sum + times, 0) });
  }
  const notes = readClientNotes(folder);
  found.push(
    {
      what: "a cancel that came too late",
      times: notes.filter(({ op, answer }) => op === "cancel" && answer === "finished").length,
    },
    {
      what: "an end recognised as one's own after its acknowledgement was lost",
      times: await countRecognised(client, crew),
    },
  );
  return found;
}

async function countRecognised(client: pg.Client, crew: Crew): Promise<number> {
  const asked = crew.members.flatMap(({ wire }) => [...wire.askedAbout]);
  return countRows(client, "select from posthaste.finished_tasks where claim_id = any ($1)", [
    asked,
  ]);
}

export async function countRows(
  client: pg.Client,
  statement: string,
  values: readonly unknown[] = [],
): Promise<number> {
  const { rows } = await client.query<{ times: number }>(
    `select count(*)::int as times from (${statement}) as found`,
    [...values],
  );
  return rows[0]?.times ?? 0;
}
