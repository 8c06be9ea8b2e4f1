/** What runs resulted in, against what their inputs make of them; and whether any had to be mended. */
import { isDeepStrictEqual } from "node:util";
import type pg from "pg";
import type { Dice } from "../node-tasks.ts";
import { shapes } from "../shapes.ts";
import type { Violation } from "./law.ts";

interface CompletedRun {
  readonly id: string;
  readonly name: string;
  readonly input: Dice;
  readonly result: unknown;
}

export async function wrongResults(client: pg.Client): Promise<Violation[]> {
  const { rows } = await client.query<CompletedRun>(
    `select workflow_id as id, name, input, result
       from posthaste.workflows join posthaste.workflow_states using (workflow_id)
      where status = 'COMPLETED' and parent_id is null`,
  );
  return rows.filter(isWrong).map(({ id, name, input, result }) => ({
    law: "a COMPLETED run results in what its input makes",
    task: id,
    seq: null,
    detail: `${name} of ${JSON.stringify(input)} resulted in ${JSON.stringify(result)}`,
  }));
}

export function isWrong({ name, input, result }: Omit<CompletedRun, "id">): boolean {
  const shape = shapes.find(({ workflow }) => workflow.name === name);
  return shape?.results(input).every((right) => !isDeepStrictEqual(right, result)) !== false;
}

/** @param log of all workers */
export function repairedRuns(log: readonly Readonly<Record<string, unknown>>[]): Violation[] {
  return log
    .filter(({ message }) => /^workflow run (?:was|is) stuck/.test(String(message)))
    .map((line) => ({
      law: "no run has to be repaired",
      task: String(line["workflowId"]),
      seq: null,
      detail: JSON.stringify(line["found"]),
    }));
}
