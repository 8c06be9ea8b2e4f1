import type { Command } from "commander";
import { printMigrations } from "../database/print-sql.ts";
import { answer, answeringCommand, withApp } from "./operator-command.ts";
import { say } from "./output.ts";
import { withProgress } from "./progress-line.ts";

interface MigrateOptions {
  readonly database?: string;
  readonly schema?: string;
  readonly print?: true;
  readonly json?: true;
}

export function migrateCommand(): Command {
  return answeringCommand("migrate", {
    description: "create or update Posthaste's schema; safe to run from several places at once",
    examples: [
      "migrate",
      "migrate app.ts",
      "migrate --database postgres://localhost/shop --schema tasks",
      "migrate --print > schema.sql",
    ],
  })
    .argument("[app]", "the file that exports the app, for its database and schema")
    .option(
      "-d, --database <url>",
      "the database (default: the app's, else DATABASE_URL, else the embedded one)",
    )
    .option("-s, --schema <name>", "the schema (default: the app's, else posthaste)")
    .option("--print", "print the SQL for an empty database instead of running it")
    .action(async (file: string | undefined, options: MigrateOptions) => {
      const { schema, print } = options;
      if (print) return say(printMigrations(schema ?? "posthaste"));
      await withApp({ ...options, ...(file !== undefined && { app: file }) }, async (app) => {
        const applied = await withProgress("migrating", () => app.migrate());
        answer(options, { applied }, () =>
          applied.length === 0 ? "the schema is up to date" : `applied ${applied.join(", ")}`,
        );
      });
    });
}
