/**
 * Which claims of one role to vouch for, and when. A claim gets its first heartbeat when it has been held for one interval,
 * so a task shorter than that writes none; from then on one every interval. What is due takes along what has been vouched
 * for half an interval ago, so that soon all share one statement.
 */
import type { HeldClaim } from "../../store/queries/hold-claims.ts";

interface Held {
  readonly claim: HeldClaim;
  /** When it was first seen, or last vouched for. */
  lastSign: number;
  isVouched: boolean;
  askedAt: number;
}

export class Vouching {
  readonly #intervalMs: number;
  #held = new Map<string, Held>();

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  get size(): number {
    return this.#held.size;
  }

  /** All that is held now; what is not among them has ended. */
  hold(claims: readonly HeldClaim[], now: number): void {
    const held = new Map<string, Held>();
    for (const claim of claims) {
      const key = `${claim.id}/${claim.claimId}`;
      held.set(
        key,
        this.#held.get(key) ?? {
          claim,
          lastSign: now,
          isVouched: false,
          askedAt: -Infinity,
        },
      );
    }
    this.#held = held;
  }

  /** Milliseconds until something is due, Infinity if nothing is held. */
  dueIn(now: number): number {
    let earliest = Infinity;
    for (const held of this.#held.values()) earliest = Math.min(earliest, this.#dueAt(held));
    return earliest - now;
  }

  /** What to vouch for now. */
  due(now: number): HeldClaim[] {
    if (this.dueIn(now) > 0) return [];
    const due: HeldClaim[] = [];
    for (const held of this.#held.values()) {
      const isCompany = held.isVouched && now - held.lastSign >= this.#intervalMs / 2;
      if (isCompany || this.#dueAt(held) <= now) due.push(held.claim);
    }
    return due;
  }

  #dueAt({ lastSign, askedAt }: Held): number {
    return Math.max(lastSign + this.#intervalMs, askedAt + this.#intervalMs / 2);
  }

  /**
   * Those of `claims` that are in `ids` were vouched for. The others have ended, or somebody had locked their rows: they
   * are tried again in half an interval.
   */
  vouched(claims: readonly HeldClaim[], ids: ReadonlySet<string>, now: number): void {
    for (const { id, claimId } of claims) {
      const held = this.#held.get(`${id}/${claimId}`);
      if (held === undefined) continue;
      held.isVouched ||= ids.has(id);
      if (ids.has(id)) held.lastSign = now;
      held.askedAt = now;
    }
  }

  /** How long ago the oldest sign of life was that a held claim has; 0 if nothing is held. */
  oldestSignMs(now: number): number {
    let oldest = 0;
    for (const { lastSign } of this.#held.values()) oldest = Math.max(oldest, now - lastSign);
    return oldest;
  }
}
