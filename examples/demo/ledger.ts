/** What the handlers wrote outside the database. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface LedgerLine {
  readonly event: "begin" | "done";
  readonly task: string;
  readonly claim: string;
  readonly attempt: number;
}

export function readLedger(folder: string): LedgerLine[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".ndjson"))
    .flatMap((file) => readFileSync(join(folder, file), "utf8").trim().split("\n"))
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as LedgerLine);
}
