/** Hands on what arrives, at most so many in one turn of the event loop, so that a storm of messages holds nothing up. */
export class Drain<Item> {
  readonly #most: number;
  readonly #deliver: (item: Item) => void;
  #waiting: Item[] = [];
  #isUnderWay = false;

  constructor(most: number, deliver: (item: Item) => void) {
    this.#most = most;
    this.#deliver = deliver;
  }

  push(item: Item): void {
    this.#waiting.push(item);
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    queueMicrotask(() => this.#turn());
  }

  #turn(): void {
    for (const item of this.#waiting.splice(0, this.#most)) this.#deliver(item);
    if (this.#waiting.length === 0) this.#isUnderWay = false;
    else setImmediate(() => this.#turn());
  }
}
