import type { HeldClaim } from "../../src/store/queries/hold-claims.ts";
import type { Heartbeat } from "../../src/store/queries/vouch.ts";
import type { Db } from "../../src/store/sql.ts";
import type { Store } from "../../src/store/store.ts";

export const vouchSender = {
  workerId: "00000000-0000-4000-8000-000000000007",
  hostname: "a host",
  pid: 7,
};

/** A heartbeat for these claims, from a worker that nobody else is. */
export function vouchFor(
  store: Store,
  db: Db,
  claims: readonly HeldClaim[],
  heartbeat: Partial<Heartbeat> = {},
): Promise<Set<string>> {
  const usual = { role: "runner", sender: vouchSender, leaseMs: 60_000, loopBlockedMs: 0 } as const;
  return store.vouch(db, { ...usual, ...heartbeat }, claims);
}
