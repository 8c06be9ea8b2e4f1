/** What `migrate` runs on an empty database, for those who apply their migrations themselves. */
import { PosthasteError } from "../domain/errors.ts";
import { shown } from "../domain/option-reader.ts";
import { printMigrations as print } from "../store/migrate.ts";
import { SCHEMA_NAME } from "../store/sql.ts";

export function printMigrations(schema: string): string {
  return print(requireSchemaName(schema));
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
