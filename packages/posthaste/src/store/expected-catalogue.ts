/**
 * The objects as the migrations and functions of this version make them, on this very server: they are made in a schema of a
 * passing name, read, and rolled back. Written-down definitions would differ between versions of PostgreSQL.
 */
import { randomBytes } from "node:crypto";
import type { Connection } from "./connection.ts";
import { makeSchema } from "./migrate.ts";
import { readCatalogue, type CatalogueEntry } from "./queries/doctor/read-catalogue.ts";
import { sql } from "./sql.ts";

/** Touches no object that exists. Needs the right to create a schema. */
export async function readExpectedCatalogue(
  connection: Connection,
  schema: string,
): Promise<CatalogueEntry[]> {
  const draft = `posthaste_doctor_${randomBytes(8).toString("hex")}`;
  await connection.script(sql`begin`);
  try {
    await makeSchema(connection, draft);
    return await readCatalogue(connection, draft, schema);
  } finally {
    await connection.script(sql`rollback`).catch(() => connection.destroy()); // the session is gone: so is its transaction
  }
}
