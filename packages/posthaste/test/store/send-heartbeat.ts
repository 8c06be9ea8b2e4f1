import type { Claim } from "../../src/store/queries/claim/stored-claims.ts";
import type { Heartbeat } from "../../src/store/queries/worker/heartbeat.ts";
import type { Db } from "../../src/store/sql.ts";
import type { Store } from "../../src/store/store.ts";

export const heartbeatSender = {
  workerId: "00000000-0000-4000-8000-000000000007",
  hostname: "a host",
  pid: 7,
};

/** A heartbeat for these claims, from a worker of its own. */
export function sendHeartbeat(
  store: Store,
  db: Db,
  claims: readonly Claim[],
  heartbeat: Partial<Heartbeat> = {},
): Promise<Set<string>> {
  const usual = {
    role: "runner",
    sender: heartbeatSender,
    leaseMs: 60_000,
    loopBlockedMs: 0,
  } as const;
  return store.heartbeat(db, { ...usual, ...heartbeat }, claims);
}
