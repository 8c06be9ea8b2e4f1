/**
 * Writes packages/posthaste/src/store/migrations.gen.ts from migrations/*.sql: the published library must find its
 * migrations wherever a bundler puts its code. `--check` only compares, for CI.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const folder = new URL("../packages/posthaste/migrations/", import.meta.url);
const target = new URL("../packages/posthaste/src/store/migrations.gen.ts", import.meta.url);

const entries = readdirSync(folder)
  .filter((file) => file.endsWith(".sql"))
  .sort()
  .map((file) => {
    const source = readFileSync(new URL(file, folder), "utf8");
    const name = file.replace(/\.sql$/, "");
    const entry = { name, oldestLibrary: oldestLibraryOf(name, source), source };
    return `  ${JSON.stringify(entry)},\n`;
  });

const text = `// Generated from migrations/*.sql by scripts/embed-migrations.ts. Do not edit.
export interface Migration {
  readonly name: string;
  /** The oldest version of this library that may run on the schema that the migration makes. */
  readonly oldestLibrary: string;
  readonly source: string;
}

export const migrations: readonly Migration[] = [
${entries.join("")}];
`;

if (!process.argv.includes("--check")) writeFileSync(target, text);
else if (readFileSync(target, "utf8") !== text) {
  console.error("migrations.gen.ts is out of date: run `npm run migrations`");
  process.exitCode = 1;
}

/** Its first line says it: `-- oldest library: 0.4.0`. Those before 0017 say nothing, and all versions know them. */
function oldestLibraryOf(name: string, source: string): string {
  const [, said] = /^-- oldest library: (\d+\.\d+\.\d+)\n/.exec(source) ?? [];
  if (said !== undefined) return said;
  if (name < "0017") return "0.1.0";
  throw new Error(`the first line of ${name}.sql must be \`-- oldest library: <version>\``);
}
