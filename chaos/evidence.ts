/** Collects the evidence of a violation: the lines of the task, the run or the schedule in the journals, and the faults of that moment. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import type { Violation } from "./checker/law.ts";
import { readEffects } from "./ledger.ts";

const LINES_EACH_SIDE = 10;
const MOST_TASKS = 10;
const AROUND_MS = 10_000;

interface Line {
  readonly seq: string;
  readonly at: Date;
  readonly text: string;
}

export async function linesAround(
  client: pg.Client,
  folder: string,
  violations: readonly Violation[],
): Promise<string> {
  const parts: string[] = [];
  const tasks = new Set(violations.map(({ task }) => task));
  for (const task of [...tasks].slice(0, MOST_TASKS)) {
    const broken = violations.filter((violation) => violation.task === task);
    const lines = await journalLines(client, task, broken[0]?.seq ?? null);
    parts.push(
      `task ${task}`,
      ...broken.map(({ law, detail, seq }) => `  BROKEN: ${law} (${detail}) at ${seq ?? "rest"}`),
      ...lines.map(({ seq, at, text }) => `  ${seq} ${at.toISOString()} ${text}`),
      ...effectLines(folder, task),
      ...faultLines(folder, lines),
      "",
    );
  }
  return parts.join("\n");
}

const OF_TASK = `
  select seq, at, op || ' ' || status || ' run ' || attempt_no || coalesce(' claim ' || claim_id, '')
         || coalesce(' worker ' || worker_id, '') || ' by "' || said_by || '" in ' || xid as text
    from chaos.journal where task_id::text = $1 order by seq`;

/** Of a run: all that is told of it, of its nodes and of their tasks, in the order of time. */
const OF_RUN = `
  select seq, at, 'run ' || coalesce(status_before, 'nothing') || ' to ' || coalesce(status, 'nothing')
         || case when is_cancelling then ', cancelled' else '' end || ' by "' || said_by || '" in ' || xid as text
    from chaos.run_journal where workflow_id::text = $1
  union all
  select j.seq, at, 'node ' || coalesce(g.id, j.node_no::text) || case when item < 0 then '' else '[' || item || ']' end || ' '
         || coalesce(status_before, 'nothing') || ' to ' || coalesce(status, 'nothing')
         || coalesce(' task ' || task_id, '') || ' by "' || said_by || '" in ' || xid
    from chaos.node_journal j
    left join posthaste.workflows w using (workflow_id)
    left join posthaste.graph_nodes g on g.graph_id = w.graph_id and g.node_no = j.node_no
   where j.workflow_id::text = $1
  union all
  select seq, at, 'task ' || task_id || ' ' || op || ' ' || status || ' run ' || attempt_no || ' by "' || said_by || '" in ' || xid
    from chaos.journal join posthaste.submissions s using (task_id) where s.workflow_id::text = $1
  order by at`;

/** The changes and firings of a schedule. */
const OF_SCHEDULE = `
  select seq, at, op || ' next ' || coalesce(next_slot::text, 'none') || coalesce(' waiting ' || buffered_slot, '')
         || case when is_paused then ' paused' else '' end || ' ' || missed || ' ' || overlap || ' in ' || xid as text
    from chaos.schedule_journal where schedule = $1
  union all
  select seq, at, 'slot ' || slot || coalesce(' skipped: ' || skipped, ' sent ' || coalesce(task_id, run_id))
         || case when triggered then ' by hand' else '' end || ' by ' || pid || ' in ' || xid
    from chaos.firing_journal where schedule = $1
  order by seq`;

async function journalLines(client: pg.Client, task: string, seq: number | null): Promise<Line[]> {
  const { rows } = await client.query<Line>(OF_TASK, [task]);
  if (rows.length > 0) return nearest(rows, seq);
  const ofSchedule = await client.query<Line>(OF_SCHEDULE, [task]);
  if (ofSchedule.rows.length > 0) return nearest(ofSchedule.rows, seq);
  return (await client.query<Line>(OF_RUN, [task])).rows;
}

function nearest(lines: readonly Line[], seq: number | null): Line[] {
  const middle =
    seq === null ? lines.length - 1 : lines.findIndex((line) => Number(line.seq) >= seq);
  return lines.slice(Math.max(0, middle - LINES_EACH_SIDE), middle + LINES_EACH_SIDE + 1);
}

function effectLines(folder: string, task: string): string[] {
  return readEffects(folder)
    .filter((effect) => effect.task === task)
    .map(({ at, run, claim, worker }) => `  ${at} body ${run} claim ${claim} worker ${worker}`);
}

function faultLines(folder: string, lines: readonly Line[]): string[] {
  const file = join(folder, "nemesis.jsonl");
  const [first, last] = [lines[0]?.at, lines.at(-1)?.at];
  if (first === undefined || last === undefined || !existsSync(file)) return [];
  const isNear = (line: string): boolean => {
    const { began, ended = began } = JSON.parse(line) as { began: string; ended?: string };
    return (
      Date.parse(ended) > Number(first) - AROUND_MS && Date.parse(began) < Number(last) + AROUND_MS
    );
  };
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "" && isNear(line))
    .map((line) => `  fault ${line}`);
}
