/**
 * Which claims of one role need a heartbeat, and when. A claim gets its first heartbeat after one interval, so a shorter task writes
 * none; then one every interval. A due heartbeat takes along claims whose last one is half an interval old, so that all soon share one
 * statement.
 */
import type { Claim } from "../../store/queries/claim/stored-claims.ts";

interface Held {
  readonly claim: Claim;
  /** When the claim was first seen, or its last heartbeat was sent. */
  lastSign: number;
  wasSent: boolean;
  askedAt: number;
}

export class HeartbeatSchedule {
  readonly #intervalMs: number;
  #held = new Map<string, Held>();

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  get size(): number {
    return this.#held.size;
  }

  /** All claims of the worker now. Claims that are missing have ended. */
  hold(claims: readonly Claim[], now: number): void {
    const held = new Map<string, Held>();
    for (const claim of claims) {
      const key = `${claim.id}/${claim.claimId}`;
      held.set(
        key,
        this.#held.get(key) ?? {
          claim,
          lastSign: now,
          wasSent: false,
          askedAt: -Infinity,
        },
      );
    }
    this.#held = held;
  }

  /** Milliseconds until a heartbeat is due; Infinity without claims. */
  dueIn(now: number): number {
    let earliest = Infinity;
    for (const held of this.#held.values()) earliest = Math.min(earliest, this.#dueAt(held));
    return earliest - now;
  }

  /** The claims that need a heartbeat now. */
  due(now: number): Claim[] {
    if (this.dueIn(now) > 0) return [];
    const due: Claim[] = [];
    for (const held of this.#held.values()) {
      const isCompany = held.wasSent && now - held.lastSign >= this.#intervalMs / 2;
      if (isCompany || this.#dueAt(held) <= now) due.push(held.claim);
    }
    return due;
  }

  #dueAt({ lastSign, askedAt }: Held): number {
    return Math.max(lastSign + this.#intervalMs, askedAt + this.#intervalMs / 2);
  }

  /**
   * The heartbeat was written for those of `claims` that are in `ids`. The others have ended, or their rows were locked: they are tried
   * again in half an interval.
   */
  sent(claims: readonly Claim[], ids: ReadonlySet<string>, now: number): void {
    for (const { id, claimId } of claims) {
      const held = this.#held.get(`${id}/${claimId}`);
      if (held === undefined) continue;
      held.wasSent ||= ids.has(id);
      if (ids.has(id)) held.lastSign = now;
      held.askedAt = now;
    }
  }

  /** The age of the oldest last heartbeat; 0 without claims. */
  oldestSignMs(now: number): number {
    let oldest = 0;
    for (const { lastSign } of this.#held.values()) oldest = Math.max(oldest, now - lastSign);
    return oldest;
  }
}
