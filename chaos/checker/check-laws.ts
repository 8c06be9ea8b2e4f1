/** Asks every law. */
import type pg from "pg";
import { brokenLaws, type BrokenLaw } from "../../packages/posthaste/test/support/broken-laws.ts";
import { closeJournal } from "../journal.ts";
import { claimLaws } from "./claim-laws.ts";
import type { Law, Violation } from "./law.ts";
import { operateLaws } from "./operate-laws.ts";
import { runLaws } from "./run-laws.ts";
import { scheduleLaws } from "./schedule-laws.ts";
import { settledLaws, stateLaws } from "./state-laws.ts";
import { timeLaws } from "./time-laws.ts";

export const taskLaws: readonly Law[] = [...stateLaws, ...settledLaws, ...claimLaws, ...timeLaws];
const laws: readonly Law[] = [...taskLaws, ...runLaws, ...operateLaws, ...scheduleLaws];

/** Of each law, so many examples at most. */
const MOST_EXAMPLES = 20;

export async function checkLaws(client: pg.Client): Promise<Violation[]> {
  await closeJournal(client);
  const found: Violation[] = [];
  for (const { says, broken } of laws) {
    const { rows } = await client.query<Omit<Violation, "law" | "seq"> & { seq: string | null }>(
      `select task, seq, detail from (${broken}) as broken order by seq limit ${MOST_EXAMPLES}`,
    );
    for (const { task, seq, detail } of rows) {
      found.push({ law: says, task, seq: seq === null ? null : Number(seq), detail });
    }
  }
  const atRest = await brokenLaws(async (text) => (await client.query<BrokenLaw>(text)).rows);
  for (const { law, task, figure } of atRest.slice(0, MOST_EXAMPLES)) {
    found.push({ law: `not: ${law}`, task, seq: null, detail: String(figure) });
  }
  return found;
}
