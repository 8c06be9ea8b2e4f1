/**
 * A signal that a handler can read while it computes. A loop that never returns to the event loop receives no message, so `aborted`
 * and `throwIfAborted()` first poll for a posted abort.
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
