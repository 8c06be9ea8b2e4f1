/** The roles that `posthaste roles` prints, each with a password of its own. They belong to the whole server: drop them. */
import { printRoles } from "../../src/database/print-sql.ts";

export const kinds = ["migrator", "producer", "worker", "reader", "operator"] as const;
export type Kind = (typeof kinds)[number];

/** SQL as an administrator. */
type RunSql = (text: string) => Promise<unknown>;

export async function createLoginRoles(sql: RunSql, schema: string): Promise<void> {
  await sql(printRoles(schema));
  for (const kind of kinds)
    await sql(`alter role ${schema}_${kind} login password 'pw of ${kind}'`);
}

export async function dropLoginRoles(sql: RunSql, schema: string): Promise<void> {
  const names = kinds.map((kind) => `${schema}_${kind}`);
  // One at a time: PostgreSQL stumbles over default privileges that go with two of them.
  for (const name of names) await sql(`drop owned by ${name} cascade`);
  for (const name of names) await sql(`drop role ${name}`);
}

/** Of the same database, as this role. */
export function urlOfRole(databaseUrl: string, schema: string, kind: Kind): string {
  const url = new URL(databaseUrl);
  url.username = `${schema}_${kind}`;
  url.password = `pw of ${kind}`;
  return url.href;
}
