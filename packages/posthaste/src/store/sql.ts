/** Statement text that cannot be made from an ordinary string: the schema's name is the only hole a statement has. */
import { createHash } from "node:crypto";

declare const brand: unique symbol;
export type SqlText = string & { readonly [brand]: "sql" };

/** A statement and the name it is prepared under: a hash of its text, so two versions never share a name. */
export interface Statement {
  readonly text: SqlText;
  readonly name: string;
  /** Rows come as arrays of their columns: the driver makes an object field by field, 1 µs for a row of ten. */
  readonly isBare?: boolean;
}

export function sql(strings: TemplateStringsArray, ...parts: readonly SqlText[]): SqlText {
  return String.raw({ raw: strings }, ...parts) as SqlText;
}

export function statement(text: SqlText): Statement {
  return { text, name: `ph_${createHash("sha256").update(text).digest("hex").slice(0, 24)}` };
}

export function bareStatement(text: SqlText): Statement {
  return { ...statement(text), isBare: true };
}

/** What a schema may be called; the length leaves room for the names that PostgreSQL derives. */
export const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,47}$/;

/** The schema's name as SQL. Checked by rule first and quoted all the same. */
export function schemaText(schema: string): SqlText {
  if (!SCHEMA_NAME.test(schema)) throw new TypeError("the schema name is not a plain identifier");
  return `"${schema}"` as SqlText;
}

/** Text read from a migration file, which is ours, with its holes filled. */
export function migrationText(source: string, schema: string): SqlText {
  return source
    .replaceAll(/@schema_name\b/g, schema)
    .replaceAll(/@schema\b/g, schemaText(schema)) as SqlText;
}

export function parameter(number: number): SqlText {
  return `$${number}` as SqlText;
}

/** An array parameter. The driver would look into every element for something to escape; a uuid has nothing. */
export function uuidArray(ids: readonly string[]): string {
  return `{${ids.join(",")}}`;
}

/** The port every query goes through: a connection of ours, or a caller's transaction. */
export interface Db {
  query<Row extends object>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
}
