/** The books compared: what was acknowledged, what the database says, and what the handlers wrote. */
import type pg from "pg";
import { TASK_TERMINAL_STATES, TaskStatus, type TaskHandle } from "posthaste";
import { readLedger } from "./ledger.ts";

export interface Audit {
  readonly lines: readonly string[];
  /** Acknowledged, and not ended in the database. */
  readonly lost: number;
  /** Whose handler came to its end more than once, other than in an attempt that a killed worker did not live to report. */
  readonly finishedTwice: number;
  readonly problems: readonly string[];
}

interface Row {
  readonly id: string;
  readonly name: string;
  readonly status: TaskStatus;
  readonly attempt_no: number;
  /** Claims of attempts that were cut short by the death of their worker. */
  readonly cut: readonly string[];
}

export async function audit(
  client: pg.Client,
  schema: string,
  folder: string,
  handles: readonly TaskHandle[],
): Promise<Audit> {
  const { rows } = await client.query<Row>(
    `select id, name, status, attempt_no, array(
              select claim_id::text from ${schema}.attempts where task_id = id and outcome = 'WORKER_FAILURE'
            ) as cut
       from ${schema}.tasks`,
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  const ledger = readLedger(folder);
  const begun = tally(ledger.filter(({ event }) => event === "begin").map(({ task }) => task));
  const isDone = ledger.filter(({ event }) => event === "done");
  const done = tally(isDone.map(({ task }) => task));
  const cut = new Set(rows.flatMap((row) => row.cut));
  const reported = tally(isDone.filter(({ claim }) => !cut.has(claim)).map(({ task }) => task));

  const isLost = ({ id }: TaskHandle): boolean => {
    const row = byId.get(id);
    return row === undefined || !TASK_TERMINAL_STATES.includes(row.status);
  };
  const problems = rows.flatMap((row) => {
    const { id, name, status, attempt_no } = row;
    const seen = begun.get(id) ?? 0;
    // A worker may be killed between its claim and the first line of the handler.
    if (seen > attempt_no || seen < attempt_no - row.cut.length)
      return [`${name} ${id}: ${attempt_no} attempts in the database, ${seen} in the ledger`];
    if (status === TaskStatus.COMPLETED && !done.has(id))
      return [`${name} ${id}: completed, but never done`];
    if (status === TaskStatus.EXPIRED && seen > 0) return [`${name} ${id}: expired, but it ran`];
    return [];
  });
  if (rows.length !== handles.length)
    problems.push(`${handles.length} sent, ${rows.length} in the database`);
  return {
    lines: summary(rows),
    lost: handles.filter(isLost).length,
    finishedTwice: [...reported.values()].filter((times) => times > 1).length,
    problems,
  };
}

function summary(rows: readonly Row[]): string[] {
  const names = [...new Set(rows.map(({ name }) => name))].sort();
  return names.map((name) => {
    const statuses = tally(rows.filter((row) => row.name === name).map(({ status }) => status));
    const counts = [...statuses]
      .map(([status, times]) => `${times} ${status.toLowerCase()}`)
      .sort();
    return `  ${name.padEnd(14)} ${counts.join(", ")}`;
  });
}

function tally(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
