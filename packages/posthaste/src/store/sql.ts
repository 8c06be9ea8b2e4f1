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

/** Valid schema names, without PostgreSQL's own. The length leaves room for derived names. */
export const SCHEMA_NAME = /^(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,47}$/;

/** The schema's name as SQL. Checked by rule first and quoted all the same. */
export function schemaText(schema: string): SqlText {
  if (!SCHEMA_NAME.test(schema)) throw new TypeError("the schema name is not a plain identifier");
  return `"${schema}"` as SqlText;
}

/** Text of a file in migrations/ or functions/, which is ours, with the schema's name put in. */
export function migrationText(source: string, schema: string): SqlText {
  return source
    .replaceAll(/@schema_name\b/g, schema)
    .replaceAll(/@schema\b/g, schemaText(schema)) as SqlText;
}

export function parameter(number: number): SqlText {
  return `$${number}` as SqlText;
}

/** The SQL of each parameter of a statement, by name. */
export type Parameters<Name extends string> = (name: Name) => SqlText;

export function parametersNamed<Name extends string>(names: readonly Name[]): Parameters<Name> {
  return (name) => {
    const at = names.indexOf(name);
    if (at < 0) throw new TypeError(`the statement has no parameter ${name}`);
    return parameter(at + 1);
  };
}

/** An array parameter. The driver would look into every element for something to escape; a uuid has nothing. */
export function uuidArray(ids: readonly string[]): string {
  return `{${ids.join(",")}}`;
}

/** The same as PostgreSQL holds it, which spares it the reading: a twentieth of a statement that ends a hundred tasks. */
export function uuidArrayBytes(ids: readonly string[]): Buffer {
  const bytes = Buffer.allocUnsafe(ARRAY_HEAD + ids.length * UUID_ITEM);
  [1, 0, UUID_OID, ids.length, 1].forEach((value, n) => bytes.writeInt32BE(value, 4 * n));
  let at = ARRAY_HEAD;
  for (const id of ids) {
    at = bytes.writeInt32BE(16, at);
    for (const from of HEX_PAIRS) bytes[at++] = digit(id, from) * 16 + digit(id, from + 1);
  }
  return bytes;
}

/** Dimensions, whether there are nulls, the type of its elements; how many, and the number of the first. */
const ARRAY_HEAD = 20;
/** Its length, and itself. */
const UUID_ITEM = 20;
const UUID_OID = 2950;
/** Where each byte is in a uuid as text. */
const HEX_PAIRS = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
/** The values of 0–9 and a–f by character code: comparing takes twice the time. */
const DIGITS = Uint8Array.from({ length: 128 }, (_, code) => (code < 58 ? code - 48 : code - 87));

function digit(id: string, at: number): number {
  return DIGITS[id.charCodeAt(at)] ?? 0;
}

/** The port every query goes through: a connection of ours, or a caller's transaction. */
export interface Db {
  query<Row extends object>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
}

/** A session of our own. Only there are rows copied: not every driver's transaction can, nor every pooler in between. */
export interface OwnDb extends Db {
  /** Whether the session is ours alone, with no pooler between. */
  readonly isOurs: boolean;
  /** Statements that travel as one message, with the rows of each COPY in it: one transaction, unless one is open. */
  copy(text: SqlText, rows: readonly string[]): Promise<void>;
}
