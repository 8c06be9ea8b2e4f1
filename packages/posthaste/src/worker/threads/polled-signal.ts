/**
 * A signal that a body can look at while it computes. A loop that does not return to the event loop would never hear of
 * an abort; so each look at `aborted`, and each `throwIfAborted()`, first asks whether one has been posted.
 */
export class PolledSignal {
  readonly #controller = new AbortController();

  constructor(poll: () => void) {
    const { signal } = this.#controller;
    const look = (): boolean => {
      poll();
      return Reflect.get(AbortSignal.prototype, "aborted", signal);
    };
    Object.defineProperties(signal, {
      aborted: { get: look },
      throwIfAborted: {
        value: (): void => {
          if (look()) throw signal.reason;
        },
      },
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.#controller.abort(reason);
  }
}
