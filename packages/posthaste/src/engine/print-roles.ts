/** The roles of least privilege, for those who keep them apart. */
import { printRoles as print } from "../store/roles.ts";
import { requireSchemaName } from "./print-migrations.ts";

export function printRoles(schema: string): string {
  return print(requireSchemaName(schema));
}
