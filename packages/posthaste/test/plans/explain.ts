/** EXPLAIN of the statements that the store prepares, as it prepares them: by the names they have in the session. */
import type { Connection } from "../../src/store/connection.ts";
import { sql, statement, type Db, type SqlText, type Statement } from "../../src/store/sql.ts";

export interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Shared Hit Blocks"?: number;
  readonly "Shared Read Blocks"?: number;
  readonly Plans?: readonly PlanNode[];
}

export interface Explained {
  readonly nodes: readonly PlanNode[];
  /** Tables that were read from end to end. */
  readonly scannedTables: readonly string[];
  readonly indexes: readonly string[];
  /** Pages looked at, cached or not. */
  readonly buffers: number;
  /** Rows of tables that were looked at, wanted or not. */
  readonly rowsRead: number;
  readonly executionMs: number;
}

/** A statement as the session has prepared it, with the values to run it with. */
export interface Prepared {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

/** Runs `call` on the session so many times, so that its statement is prepared and planned there; each run is undone. */
export async function prepare(
  connection: Connection,
  call: (db: Db) => Promise<unknown>,
  runs = 1,
): Promise<Prepared> {
  let prepared: Prepared | undefined;
  const recorder: Db = {
    query(asked, values = []) {
      prepared = { statement: asked, values };
      return connection.query(asked, values);
    },
  };
  for (let run = 0; run < runs; run++) await undone(connection, () => call(recorder));
  if (prepared === undefined) throw new Error("nothing was asked");
  return prepared;
}

/** Runs the session's own prepared statement, with whatever plan it has cached for it, and tells how; undone. */
export function explain(connection: Connection, prepared: Prepared): Promise<Explained> {
  return undone(connection, () => explainNow(connection, prepared));
}

async function explainNow(
  connection: Connection,
  { statement: { name }, values }: Prepared,
): Promise<Explained> {
  const args = values.length === 0 ? "" : `(${values.map(literal).join(", ")})`;
  const text = `explain (analyze, buffers, format json) execute "${name}" ${args}` as SqlText;
  const [row] = await connection.query<{ "QUERY PLAN": string }>(statement(text));
  const [answer] = JSON.parse(row?.["QUERY PLAN"] ?? "[]") as [
    { readonly Plan: PlanNode; readonly "Execution Time": number },
  ];
  const nodes = flatten(answer.Plan);
  return {
    nodes,
    scannedTables: nodes
      .filter((node) => node["Node Type"] === "Seq Scan")
      .map((node) => node["Relation Name"] ?? ""),
    indexes: [...new Set(nodes.flatMap((node) => node["Index Name"] ?? []))].sort(),
    buffers: sum(nodes.map(ownBuffers)),
    rowsRead: sum(nodes.map(rowsRead)),
    executionMs: answer["Execution Time"],
  };
}

const SCANNED = statement(sql`
  select relname from pg_stat_xact_user_tables where schemaname = $1 and seq_scan > 0`);

const SCAN_COUNTS = statement(sql`
  select relname, seq_scan::float8 as count from pg_stat_xact_user_tables where schemaname = $1`);

/**
 * Tables of a schema that `call` reads from end to end, inside functions too; its changes are undone. Compared with the counts before
 * it: PostgreSQL adds those of earlier transactions of the session which it has not reported yet.
 */
export async function scannedBy(
  connection: Connection,
  schema: string,
  call: (on: Connection) => Promise<unknown>,
): Promise<string[]> {
  return undone(connection, async () => {
    const before = await scanCounts(connection, schema);
    await call(connection);
    const after = await scanCounts(connection, schema);
    return [...after].flatMap(([table, count]) =>
      count > (before.get(table) ?? 0) ? [table] : [],
    );
  });
}

async function scanCounts(connection: Connection, schema: string): Promise<Map<string, number>> {
  const rows = await connection.query<{ relname: string; count: number }>(SCAN_COUNTS, [schema]);
  return new Map(rows.map(({ relname, count }) => [relname, count]));
}

/** Tables of a schema that a new session's transaction has read from end to end, inside functions too. */
export async function scannedTables(connection: Connection, schema: string): Promise<string[]> {
  const rows = await connection.query<{ relname: string }>(SCANNED, [schema]);
  return rows.map(({ relname }) => relname);
}

async function undone<Answer>(connection: Connection, run: () => Promise<Answer>): Promise<Answer> {
  await connection.script("begin isolation level read committed" as SqlText);
  try {
    return await run();
  } finally {
    await connection.script("rollback" as SqlText);
  }
}

/** The pages that the node itself touched: a node's figures include its children's, except those of writing CTEs. */
function ownBuffers(node: PlanNode): number {
  return Math.max(0, allBuffers(node) - sum((node.Plans ?? []).map(allBuffers)));
}

/** Rows that a scan of a table met, over all its loops. */
export function rowsRead(node: PlanNode): number {
  if (!node["Node Type"].endsWith("Scan") || node["Relation Name"] === undefined) return 0;
  const met = (node["Actual Rows"] ?? 0) + (node["Rows Removed by Filter"] ?? 0);
  return met * (node["Actual Loops"] ?? 1);
}

function allBuffers(node: PlanNode): number {
  return (node["Shared Hit Blocks"] ?? 0) + (node["Shared Read Blocks"] ?? 0);
}

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** A value as the driver would send it, quoted. */
function literal(value: unknown): string {
  if (value === null) return "null";
  const text = Array.isArray(value)
    ? `{${value.map((item) => `"${asText(item).replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`
    : asText(value);
  return `'${text.replaceAll("'", "''")}'`;
}

function asText(value: unknown): string {
  if (typeof value === "string") return value;
  if (Buffer.isBuffer(value)) return uuidsOf(value);
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new TypeError(`a ${typeof value} among the values of a statement`);
}

/** Reads the format of uuidArrayBytes. */
function uuidsOf(bytes: Buffer): string {
  const count = bytes.readInt32BE(12);
  const items = Array.from({ length: count }, (_, n) => 24 + 20 * n);
  return `{${items.map((at) => bytes.toString("hex", at, at + 16)).join(",")}}`;
}
