/**
 * What is written down outside the database, line by line at the end of a file: a process that is killed leaves what it
 * had written, and nothing that the database loses or rolls back goes with it.
 */
import { appendFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";

/** A handler began. */
export interface Effect {
  readonly task: string;
  readonly claim: string;
  readonly worker: string;
  readonly run: number;
  readonly name: string;
  readonly at: string;
}

type RunOp = "start" | "pause" | "resume" | "cancel" | "retry" | "wait";

/** What a caller of Posthaste did, and what it was told. `unknown`: it was told nothing that it could rely on. */
export interface ClientNote {
  readonly op: "send" | "cancel" | "wait" | `${RunOp} run` | `operator: ${string}`;
  readonly type: "invoked" | "ok" | "unknown" | "refused";
  /** Or the run, the queue, the schedule; of a filter, the name of its tasks. */
  readonly task: string;
  readonly answer?: unknown;
  readonly at: string;
}

export function writeLine(file: string, line: object): void {
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

export function effectsFile(folder: string, pid: number): string {
  return join(folder, `effects-${pid}.jsonl`);
}

export function clientFile(folder: string): string {
  return join(folder, "client.jsonl");
}

/** A line that was cut off by a kill is no line. */
function readLines<Line>(file: string): Line[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line) as Line);
}

export function readEffects(folder: string): Effect[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith("effects-"))
    .flatMap((name) => readLines<Effect>(join(folder, name)));
}

export function readClientNotes(folder: string): ClientNote[] {
  return readLines<ClientNote>(clientFile(folder));
}

/** Puts the files beside the journal, for the laws to compare. Again at every call. */
export async function loadLedgers(client: pg.Client, folder: string): Promise<void> {
  const notes = readClientNotes(folder);
  const told = notes.filter(({ type }) => type === "ok");
  const load = async (table: string, columns: string, lines: readonly object[]): Promise<void> => {
    await client.query(`truncate chaos.${table}`);
    await client.query(
      `insert into chaos.${table} select * from jsonb_to_recordset($1::jsonb) as l (${columns})`,
      [JSON.stringify(lines)],
    );
  };
  const of = (op: ClientNote["op"]): ClientNote[] => told.filter((note) => note.op === op);
  await load("acknowledged", "task uuid", of("send"));
  await load("cancels", "task uuid, answer text", of("cancel"));
  await load("waits", "task uuid, answer jsonb", of("wait"));
  await load("started_runs", "task uuid", of("start run"));
  await load("cancelled_runs", "task uuid, answer text", of("cancel run"));
  await load("awaited_runs", "task uuid, answer jsonb", of("wait run"));
  await load(
    "asked_retries",
    "task uuid",
    notes.filter(({ op, type }) => op === "retry run" && type === "invoked"),
  );
  await load(
    "effects",
    "task uuid, claim uuid, worker uuid, run int, name text",
    readEffects(folder),
  );
}
