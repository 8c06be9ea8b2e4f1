import { Command } from "commander";
import { posthaste } from "../app/posthaste.ts";
import { printMigrations } from "../database/print-sql.ts";
import { PosthasteError } from "../domain/errors.ts";
import { loadApp } from "./load-app.ts";
import { say } from "./output.ts";

interface MigrateOptions {
  readonly database?: string;
  readonly schema?: string;
  readonly print?: true;
}

export function migrateCommand(): Command {
  return new Command("migrate")
    .description("create or update Posthaste's schema; safe to run from several places at once")
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
        throw new PosthasteError(
          "CONFIG_INVALID",
          "name an app, or a database and schema, not both",
        );
      }
      const app =
        file === undefined
          ? posthaste({ ...(database && { database }), ...(schema && { schema }) })
          : await loadApp(file);
      try {
        const applied = await app.migrate();
        say(applied.length === 0 ? "the schema is up to date" : `applied ${applied.join(", ")}`);
      } finally {
        await app.close();
      }
    });
}
