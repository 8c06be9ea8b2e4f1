/** Prints SQL for teams that apply migrations and roles themselves. */
import { PosthasteError } from "../domain/errors.ts";
import { shown } from "../domain/option-reader.ts";
import * as migrate from "../store/migrate.ts";
import * as roles from "../store/roles.ts";
import { SCHEMA_NAME } from "../store/sql.ts";

/** The SQL that `migrate` runs on an empty database. */
export function printMigrations(schema: string): string {
  return migrate.printMigrations(requireSchemaName(schema));
}

/** The roles of least privilege. */
export function printRoles(schema: string): string {
  return roles.printRoles(requireSchemaName(schema));
}

export function requireSchemaName(schema: string): string {
  if (SCHEMA_NAME.test(schema)) return schema;
  throw PosthasteError.of("CONFIG_INVALID", "the schema name is not valid", [
    {
      path: "schema",
      message: `expected lower-case letters, digits and _, found ${shown(schema)}`,
    },
  ]);
}
