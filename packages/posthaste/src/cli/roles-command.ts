import type { Command } from "commander";
import { printRoles } from "../database/print-sql.ts";
import { answer, answeringCommand } from "./operator-command.ts";

export function rolesCommand(): Command {
  return answeringCommand("roles", {
    description:
      "print the SQL that makes roles of least privilege: migrator, producer, worker, reader",
    examples: ['roles | psql "$ADMIN_URL"', "roles --schema tasks"],
  })
    .option(
      "-s, --schema <name>",
      "the schema, which is also the prefix of the role names",
      "posthaste",
    )
    .action(({ schema, json }: { schema: string; json?: true }) => {
      const script = printRoles(schema);
      answer(json ? { json } : {}, { script }, () => script);
    });
}
