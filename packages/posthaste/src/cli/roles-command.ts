import { Command } from "commander";
import { printRoles } from "../database/print-sql.ts";
import { say } from "./output.ts";

export function rolesCommand(): Command {
  return new Command("roles")
    .description(
      "print the SQL that makes roles of least privilege: migrator, producer, worker, reader",
    )
    .option(
      "-s, --schema <name>",
      "the schema, which is also the prefix of the role names",
      "posthaste",
    )
    .addHelpText("after", '\nExample: posthaste roles | psql "$ADMIN_URL"')
    .action(({ schema }: { schema: string }) => say(printRoles(schema)));
}
