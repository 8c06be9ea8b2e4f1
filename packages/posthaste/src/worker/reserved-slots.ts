/** Slots that are spoken for while a claim or a start is under way, so that nothing else takes them. */

export interface ReservedSlots {
  /** One of them is free now, for whoever takes it at once. False: there is none left. */
  use(): boolean;
  giveBack(): void;
}

export class SlotReserve {
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** They are not free until each is used or all are given back. */
  reserve(slots: number): ReservedSlots {
    let left = slots;
    const release = (count: number): void => {
      left -= count;
      this.#count -= count;
    };
    this.#count += slots;
    return {
      use: () => {
        if (left === 0) return false;
        release(1);
        return true;
      },
      giveBack: () => release(left),
    };
  }
}

/** What a round trip has failed to bring needs no slots. */
export async function unlessItFails<Reply>(
  slots: ReservedSlots,
  answer: Promise<Reply>,
): Promise<Reply> {
  try {
    return await answer;
  } catch (error) {
    slots.giveBack();
    throw error;
  }
}
