import { lockKey } from "../../lock-keys.ts";
import { sql, statement, type Db } from "../../sql.ts";
import type { ClaimRules } from "./pick-ready.ts";

/**
 * Takes the locks under which caps are counted, until the end of the transaction: one for the cluster, one for each
 * capped queue. Always in a statement of its own before the one that counts. Keyed by schema and queue, so it does not
 * matter by which URL a worker came; sorted, so that two workers never wait for each other.
 */
export function lockCaps(schema: string) {
  const LOCK = statement(sql`select pg_advisory_xact_lock(key) from unnest($1::bigint[]) as key`);

  return async (
    db: Db,
    { queueCaps, clusterWideCap }: Pick<ClaimRules, "queueCaps" | "clusterWideCap">,
    queues: readonly string[],
  ): Promise<void> => {
    const names = queues.filter((queue) => queueCaps.has(queue)).map((queue) => `queue/${queue}`);
    if (clusterWideCap !== null) names.push("cluster");
    const keys = names.map((name) => lockKey(`${schema}/caps/${name}`));
    await db.query(LOCK, [[...new Set(keys)].sort((a, b) => (a < b ? -1 : 1))]);
  };
}
