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
    return `  { name: ${JSON.stringify(file.replace(/\.sql$/, ""))}, source: ${JSON.stringify(source)} },\n`;
  });

const text = `// Generated from migrations/*.sql by scripts/embed-migrations.ts. Do not edit.
export const migrations: readonly { readonly name: string; readonly source: string }[] = [
${entries.join("")}];
`;

if (!process.argv.includes("--check")) writeFileSync(target, text);
else if (readFileSync(target, "utf8") !== text) {
  console.error("migrations.gen.ts is out of date: run `npm run migrations`");
  process.exitCode = 1;
}
