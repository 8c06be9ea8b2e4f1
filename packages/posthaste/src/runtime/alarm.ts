/** One timer at a time: setting it anew forgets the last one. */
export class Alarm {
  #timer: NodeJS.Timeout | undefined;

  set(ms: number, ring: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(ring, ms);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
