/** What was measured, and on what. */
import { readFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { version } from "../../packages/posthaste/dist/version.js";

export function machine(): string {
  const model = cpus()[0]?.model.trim() ?? "?";
  return `${cpus().length} × ${model}, ${Math.round(totalmem() / 2 ** 30)} GB`;
}

/** Of the contenders, as `package.json` pins them. */
export function packageVersions(): Record<string, string> {
  const file = new URL("../package.json", import.meta.url);
  const { dependencies } = JSON.parse(readFileSync(file, "utf8")) as {
    dependencies: Record<string, string>;
  };
  const of = (name: string): string => dependencies[name] ?? "?";
  return {
    Posthaste: version,
    "graphile-worker": of("graphile-worker"),
    "pg-boss": of("pg-boss"),
    BullMQ: of("bullmq"),
    DBOS: of("@dbos-inc/dbos-sdk"),
  };
}
