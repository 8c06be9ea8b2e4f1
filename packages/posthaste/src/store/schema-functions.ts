/**
 * The functions of the schema, as this version of the library has them, and which version of them a schema has.
 *
 * During a rolling deployment code of two versions starts in turns. If each applied its own functions, they would overwrite each
 * other. So a version decides: code applies its functions only where the stored version is lower. The hash decides nothing; it
 * tells that two texts went out under one version.
 */
import { createHash } from "node:crypto";
import type { Connection } from "./connection.ts";
import { functionTopics } from "./functions.gen.ts";
import { migrationText, schemaText, sql, statement, type SqlText } from "./sql.ts";

/** Raise it by one with every change of functions/*.sql, comments included. */
const FUNCTIONS_VERSION = 12;

/** The hash of that version's text. A test compares both and prints the value to write here. */
const FUNCTIONS_HASH = "01afc0f29526893a";

/** A version of the functions. Tests pass other ones, as code of another version would have. */
export interface SchemaFunctions {
  readonly version: number;
  readonly hash: string;
  readonly topics: readonly { readonly source: string }[];
}

export const ownFunctions: SchemaFunctions = {
  version: FUNCTIONS_VERSION,
  hash: FUNCTIONS_HASH,
  topics: functionTopics,
};

export function hashFunctions(topics: SchemaFunctions["topics"]): string {
  const text = topics.map(({ source }) => source).join("\n");
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** The name that `migrate` reports. */
export function labelOf({ version }: Pick<SchemaFunctions, "version">): string {
  return `functions v${version}`;
}

export type StoredFunctions = Pick<SchemaFunctions, "version" | "hash">;

/** Undefined: none have been applied. */
export async function readFunctions(
  connection: Connection,
  schema: string,
): Promise<StoredFunctions | undefined> {
  const [stored] = await connection.query<StoredFunctions>(
    statement(sql`
      select version as "version", hash as "hash"
        from ${schemaText(schema)}.function_versions order by version desc limit 1`),
  );
  return stored;
}

/** A row for each version that was applied; the highest one is in force. */
export function functionsTable(schema: string): SqlText {
  return sql`create table if not exists ${schemaText(schema)}.function_versions (
  version    integer primary key,
  hash       text not null,
  applied_by text not null,
  applied_at timestamptz not null default clock_timestamp()
);`;
}

/** Replaces functions and drops none: a function keeps its grants, and older code still calls it. */
export function functionScripts(schema: string, functions: SchemaFunctions): SqlText[] {
  return functions.topics.map(({ source }) => migrationText(source, schema));
}
