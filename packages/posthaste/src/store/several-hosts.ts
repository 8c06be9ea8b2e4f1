/** A URL with several hosts, as failover setups have them: the first that can be reached and accepts writes is taken. */
import type { ClientBase } from "pg";
import { PosthasteError } from "../domain/errors.ts";
import { sql } from "./sql.ts";

/** For one host of several: the next may answer at once. */
export const HOST_TIMEOUT_MS = 3_000;

/** On in a standby, and where the role's or the server's default is read-only. Asked before our settings change it. */
const IS_READ_ONLY = sql`select current_setting('transaction_read_only') = 'on' as "isReadOnly"`;

/** Throws as PostgreSQL would at the first write (25006). */
export async function requireWritable(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ isReadOnly: boolean | string }>(IS_READ_ONLY);
  if (rows[0]?.isReadOnly === true || rows[0]?.isReadOnly === "t") {
    throw Object.assign(new Error("the server accepts no writes"), { code: "25006" });
  }
}

/** In the order of the URLs. If none works, the error has all reasons. */
export async function firstThatWrites<Session>(
  urls: readonly string[],
  open: (url: string) => Promise<Session>,
): Promise<Session> {
  const problems: PosthasteError[] = [];
  for (const url of urls) {
    try {
      return await open(url);
    } catch (error) {
      if (!(error instanceof PosthasteError)) throw error;
      problems.push(error);
    }
  }
  throw new PosthasteError(
    "DATABASE_UNAVAILABLE",
    `none of ${urls.length} hosts accepts writes: ${problems.map(({ message }) => message).join("; ")}`,
    // A wrong password is a mistake, unless a host that is only away for now may know better.
    { retryable: problems.some(({ retryable }) => retryable) },
  );
}
