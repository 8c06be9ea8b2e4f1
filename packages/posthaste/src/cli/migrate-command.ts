import type { Command } from "commander";
import { posthaste } from "../app/posthaste.ts";
import { printMigrations } from "../database/print-sql.ts";
import { defaultLogger } from "../runtime/default-logger.ts";
import { loadApp } from "./load-app.ts";
import { answer, answeringCommand } from "./operator-command.ts";
import { say } from "./output.ts";
import { withProgress } from "./progress-line.ts";
import { UsageError } from "./usage-error.ts";

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
      const { database, schema, print } = options;
      if (print) return say(printMigrations(schema ?? "posthaste"));
      if (file !== undefined && (database !== undefined || schema !== undefined)) {
        throw new UsageError("name an app, or a database and schema, not both");
      }
      const app =
        file === undefined
          ? posthaste({
              ...(database && { database }),
              ...(schema && { schema }),
              logger: defaultLogger("warn"),
            })
          : await loadApp(file);
      try {
        const applied = await withProgress("migrating", () => app.migrate());
        answer(options, { applied }, () =>
          applied.length === 0 ? "the schema is up to date" : `applied ${applied.join(", ")}`,
        );
      } finally {
        await app.close();
      }
    });
}
