/**
 * The entry of slots. In: attempts and requests. Out: how many slots are occupied, and by what. An attempt that runs occupies one. So does each task that a request under way may
 * bring: a claim, a direct start or a chained claim reserves its slots before it is sent. An end that is not sent yet may
 * keep its slot, too (see end-list.ts).
 */
import type { Attempt } from "../execution/attempt.ts";

/** The requests that reserve slots. */
export type SlotPurpose = "claim" | "direct start" | "chained claim";

export interface Reservation {
  /** Frees one of its slots for the task that starts now. False: none is left. */
  use(): boolean;
  /** Frees the slots that were not used. Safe to repeat. */
  release(): void;
}

export class SlotLedger {
  /** A task that was lost and claimed again may have two attempts here at once. */
  readonly running = new Set<Attempt>();
  readonly #reserved: Record<SlotPurpose, number> = {
    claim: 0,
    "direct start": 0,
    "chained claim": 0,
  };
  readonly #occupiedByEnds: () => number;

  constructor(occupiedByEnds: () => number) {
    this.#occupiedByEnds = occupiedByEnds;
  }

  /** Slots that are not free. */
  get occupied(): number {
    return this.underWay + this.#occupiedByEnds();
  }

  /** Attempts that run, and tasks that a request may bring. */
  get underWay(): number {
    const { claim, "direct start": direct, "chained claim": chained } = this.#reserved;
    return this.running.size + claim + direct + chained;
  }

  reserve(purpose: SlotPurpose, slots: number): Reservation {
    let left = slots;
    const free = (count: number): void => {
      left -= count;
      this.#reserved[purpose] -= count;
    };
    this.#reserved[purpose] += slots;
    return {
      use: () => {
        if (left === 0) return false;
        free(1);
        return true;
      },
      release: () => free(left),
    };
  }
}
