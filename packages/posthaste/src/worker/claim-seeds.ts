/**
 * Which claims may be stored for this worker although it does not hold them: those of a request that is under way, and
 * those of a request whose answer was lost. Every request has a seed of its own, which its claims carry in their ids.
 */
import { seedOf } from "../store/queries/claim-id.ts";
import type { HeldClaim } from "../store/queries/hold-claims.ts";

export class ClaimSeeds {
  readonly #underWay = new Set<string>();
  readonly #unanswered = new Set<string>();

  asked(seed: string): void {
    this.#underWay.add(seedOf(seed));
  }

  answered(seed: string): void {
    this.#underWay.delete(seedOf(seed));
  }

  /** It may commit at any later time, or never: a statement outlives the connection that sent it. */
  unanswered(seed: string): void {
    this.answered(seed);
    this.#unanswered.add(seedOf(seed));
  }

  get isAnyUnderWay(): boolean {
    return this.#underWay.size > 0;
  }

  isUnderWay({ claimId }: HeldClaim): boolean {
    return this.#underWay.has(seedOf(claimId));
  }

  isUnanswered({ claimId }: HeldClaim): boolean {
    return this.#unanswered.has(seedOf(claimId));
  }

  /** One transaction stores all claims of a request, so the first that are found answer it. */
  found(claims: readonly HeldClaim[]): void {
    for (const { claimId } of claims) this.#unanswered.delete(seedOf(claimId));
  }
}
