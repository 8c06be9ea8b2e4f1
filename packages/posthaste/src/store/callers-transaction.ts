/** Wraps a transaction of the caller as a `Db`. A client outside of a transaction is refused before anything is stored. */
import { PosthasteError } from "../domain/errors.ts";
import { errorCode } from "./pg-errors.ts";
import { schemaText, sql, type Db, type SqlText } from "./sql.ts";

/** The shape of define/send-options.ts's CallersTransaction. */
export interface Queryable {
  query(text: string, values: unknown[]): Promise<{ readonly rows: unknown[] }>;
}

/**
 * A client of `pg` knows by itself whether it is in a transaction. Every other object is asked with one statement more.
 * Never a named statement: the session is not ours to leave things behind in.
 */
export async function joinTransaction(tx: Queryable, schema: string): Promise<Db> {
  requireClient(tx);
  const status = knownStatus(tx);
  if (status === "I") throw wrongTransaction(OUTSIDE);
  if (status === "E") throw wrongTransaction(FAILED);
  const client = { query: (text: string, values: unknown[]) => asked(tx, text, values) };
  if (status === undefined) await client.query(lockText(schemaText(schema)), []);
  return clientAsDb(client);
}

/** Without asking anything: for a client of ours. */
export function clientAsDb(client: Queryable): Db {
  return {
    async query<Row extends object>({ text }: { text: string }, values: readonly unknown[] = []) {
      const { rows } = await client.query(text, [...values]);
      return rows as Row[];
    },
  };
}

/** The transaction is one of another database than the app's. */
export function otherDatabase(): PosthasteError {
  return wrongTransaction(ELSEWHERE);
}

export function wrongTransaction(message: string): PosthasteError {
  return PosthasteError.of(
    "VALIDATION_FAILED",
    "the transaction was not joined; nothing was stored",
    [{ path: "options.tx", message }],
  );
}

const OUTSIDE =
  'expected a client inside a transaction, found no transaction: call query("begin") on it first, and "commit" afterwards';
const FAILED = "the transaction has failed (an earlier statement in it was refused): roll it back";
const ELSEWHERE = "expected a transaction in the app's own database, found one in another database";
const POOL =
  "expected one client inside a transaction, found a pool, which may run each statement on another client: " +
  "use pool.connect(), and begin there";

/**
 * Outside of a transaction PostgreSQL refuses it with 25P01, as it does a savepoint; but it leaves nothing behind that would have
 * to be released. The insert that follows takes the same lock.
 */
function lockText(schema: SqlText): SqlText {
  return sql`lock table ${schema}.submissions in row exclusive mode`;
}

function requireClient(tx: unknown): void {
  if (typeof tx !== "object" || tx === null || !("query" in tx) || typeof tx.query !== "function") {
    throw wrongTransaction(
      "expected a pg client inside a transaction, or anything with its query(text, values)",
    );
  }
  if ("totalCount" in tx && "idleCount" in tx && "connect" in tx) throw wrongTransaction(POOL);
}

/** The transaction status of pg's client after its last answer: "I" outside, "T" inside, "E" failed. */
interface KnowingClient {
  getTransactionStatus?(): "I" | "T" | "E" | null;
  readonly readyForQuery?: boolean;
  readonly _queryQueue?: readonly unknown[];
  readonly _sentQueryQueue?: readonly unknown[];
}

/** Undefined: it cannot say, or something is on its way that may begin or end a transaction. */
function knownStatus(tx: object): "I" | "T" | "E" | undefined {
  const client = tx as KnowingClient;
  if (typeof client.getTransactionStatus !== "function" || client.readyForQuery !== true)
    return undefined;
  const isIdle = (client._queryQueue ?? []).length + (client._sentQueryQueue ?? []).length === 0;
  return isIdle ? (client.getTransactionStatus() ?? undefined) : undefined;
}

async function asked(
  tx: Queryable,
  text: string,
  values: unknown[],
): Promise<{ readonly rows: unknown[] }> {
  try {
    return await tx.query(text, values);
  } catch (error) {
    const problem = PROBLEMS[sqlState(error) ?? ""];
    throw problem === undefined ? error : wrongTransaction(problem);
  }
}

/** Undefined table or schema: the app's own database has them. */
const PROBLEMS: Readonly<Record<string, string>> = {
  "25P01": OUTSIDE,
  "25P02": FAILED,
  "42P01": ELSEWHERE,
  "3F000": ELSEWHERE,
};

/** Layers above the driver keep its error as the cause. */
function sqlState(error: unknown): string | undefined {
  for (
    let each = error, depth = 0;
    each instanceof Error && depth < 5;
    each = each.cause, depth++
  ) {
    const code = errorCode(each);
    if (code !== undefined) return code;
  }
  return undefined;
}
