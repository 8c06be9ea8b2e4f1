/**
 * Writes packages/posthaste/src/store/migrations.gen.ts and functions.gen.ts from migrations/*.sql and functions/*.sql: the
 * published library must find its SQL wherever a bundler puts its code. `--check` only compares, for CI.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const library = new URL("../packages/posthaste/", import.meta.url);

/** In the order in which they are applied: a body that is bound when it is made needs what it calls. */
const TOPICS = [
  "ids_and_channels",
  "task_api",
  "workers",
  "workflow_rows",
  "workflow_graph",
  "workflow_values",
  "workflow_advance",
  "workflow_control",
  "workflow_retry",
  "workflow_repair",
  "retention",
  "rollups",
  "operators",
];

const migrations = filesIn("migrations").map(({ name, source }) => ({
  name,
  oldestLibrary: oldestLibraryOf(name, source),
  source,
}));

write(
  "migrations",
  `// Generated from migrations/*.sql by scripts/embed-migrations.ts. Do not edit.
export interface Migration {
  readonly name: string;
  /** The oldest version of this library that may run on the schema that the migration makes. */
  readonly oldestLibrary: string;
  readonly source: string;
}

export const migrations: readonly Migration[] = [
${lines(migrations)}];
`,
);

write(
  "functions",
  `// Generated from functions/*.sql by scripts/embed-migrations.ts. Do not edit.
export interface FunctionTopic {
  readonly name: string;
  readonly source: string;
}

/** In the order in which they are applied. */
export const functionTopics: readonly FunctionTopic[] = [
${lines(inOrder(filesIn("functions")))}];
`,
);

interface SqlFile {
  readonly name: string;
  readonly source: string;
}

function filesIn(folder: string): SqlFile[] {
  const place = new URL(`${folder}/`, library);
  return readdirSync(place)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => ({
      name: file.replace(/\.sql$/, ""),
      source: readFileSync(new URL(file, place), "utf8"),
    }));
}

function inOrder(files: readonly SqlFile[]): SqlFile[] {
  const names = files.map(({ name }) => name);
  const unlisted = names.filter((name) => !TOPICS.includes(name));
  const absent = TOPICS.filter((name) => !names.includes(name));
  if (unlisted.length + absent.length > 0) {
    throw new Error(
      `TOPICS in scripts/embed-migrations.ts must list the files of functions/; ` +
        `not listed: ${unlisted.join(", ") || "none"}; without a file: ${absent.join(", ") || "none"}`,
    );
  }
  return files.toSorted((a, b) => TOPICS.indexOf(a.name) - TOPICS.indexOf(b.name));
}

function lines(entries: readonly object[]): string {
  return entries.map((entry) => `  ${JSON.stringify(entry)},\n`).join("");
}

function write(name: string, text: string): void {
  const target = new URL(`src/store/${name}.gen.ts`, library);
  if (!process.argv.includes("--check")) {
    writeFileSync(target, text);
  } else if (readFileSync(target, "utf8") !== text) {
    console.error(`${name}.gen.ts is out of date: run \`npm run migrations\``);
    process.exitCode = 1;
  }
}

/** Its first line says it: `-- oldest library: 0.4.0`. */
function oldestLibraryOf(name: string, source: string): string {
  const [, said] = /^-- oldest library: (\d+\.\d+\.\d+)\n/.exec(source) ?? [];
  if (said !== undefined) return said;
  throw new Error(`the first line of ${name}.sql must be \`-- oldest library: <version>\``);
}
