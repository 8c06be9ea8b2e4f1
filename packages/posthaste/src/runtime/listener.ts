/**
 * One LISTEN session for everything in this process that wants to be woken. It survives a killed backend, a reset and
 * a half-open link (TCP keepalive does not see one, so it pings). Notifications sent while it was down are lost:
 * every subscriber is told when it is up again and looks for itself.
 */
import { Backoff } from "./backoff.ts";
import { pause } from "./pause.ts";

/** What a listener needs of a session. */
export interface ListenSession {
  readonly lost: Promise<Error>;
  listen(channel: string): Promise<void>;
  ping(): Promise<void>;
  onNotification(listener: (channel: string, payload: string) => void): void;
  close(): Promise<void>;
  destroy(): void;
}

export interface Subscription {
  /** Resolves when the channel is listened to for the first time. */
  readonly ready: Promise<void>;
  unsubscribe(): void;
}

interface Subscriber {
  readonly channel: string;
  readonly onMessage: (payload: string) => void;
  readonly onUp: () => void;
  readonly markReady: () => void;
}

const PING_EVERY_MS = 10_000;
const PING_TIMEOUT_MS = 5_000;

export class Listener {
  readonly #open: () => Promise<ListenSession>;
  readonly #onDown: (error: unknown) => void;
  readonly #subscribers = new Set<Subscriber>();
  readonly #stop = new AbortController();
  #session: ListenSession | undefined;
  #loop: Promise<void> | undefined;
  #isDown = false;

  constructor(open: () => Promise<ListenSession>, onDown: (error: unknown) => void) {
    this.#open = open;
    this.#onDown = onDown;
  }

  /** `onUp` is called each time the channel is being listened to again: what was sent before it may be lost. */
  subscribe(
    channel: string,
    handlers: { onMessage: (payload: string) => void; onUp: () => void },
  ): Subscription {
    let markReady = (): void => {};
    const ready = new Promise<void>((resolve) => (markReady = resolve));
    const subscriber = { channel, markReady, ...handlers };
    this.#subscribers.add(subscriber);
    this.#loop ??= this.#run();
    if (this.#session !== undefined) void this.#listen(this.#session, [subscriber]);
    return { ready, unsubscribe: () => this.#subscribers.delete(subscriber) };
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#session?.close();
    await this.#loop;
  }

  async #run(): Promise<void> {
    // Short pauses: its return is what ends the longer ones of the workers.
    const backoff = new Backoff({ initialMs: 100, maxMs: 3_000 });
    while (!this.#stop.signal.aborted) {
      try {
        const session = await this.#open();
        session.onNotification((channel, payload) => this.#deliver(channel, payload));
        this.#session = session;
        if (this.#stop.signal.aborted) await session.close();
        await this.#listen(session, [...this.#subscribers]);
        backoff.reset();
        await this.#watch(session);
      } catch (error) {
        this.#report(error);
      }
      this.#session = undefined;
      await pause(backoff.next(), this.#stop.signal);
    }
  }

  async #listen(session: ListenSession, subscribers: readonly Subscriber[]): Promise<void> {
    try {
      await Promise.all(subscribers.map(({ channel }) => session.listen(channel)));
    } catch (error) {
      session.destroy(); // #watch or the opening loop reports it and opens another
      return this.#report(error);
    }
    this.#isDown = false;
    for (const { markReady, onUp } of subscribers) {
      markReady();
      onUp();
    }
  }

  /** Throws when the session is over or does not answer a ping. */
  async #watch(session: ListenSession): Promise<void> {
    const over = new AbortController();
    let reason: Error | undefined;
    void session.lost.then((error) => {
      reason = error;
      over.abort();
    });
    for (;;) {
      await pause(PING_EVERY_MS, over.signal);
      if (reason !== undefined) throw reason;
      const late = setTimeout(() => session.destroy(), PING_TIMEOUT_MS);
      await session.ping().finally(() => clearTimeout(late));
    }
  }

  /** Once for each time that it is down, however often it is tried. */
  #report(error: unknown): void {
    if (this.#isDown || this.#stop.signal.aborted) return;
    this.#isDown = true;
    this.#onDown(error);
  }

  #deliver(channel: string, payload: string): void {
    for (const subscriber of this.#subscribers) {
      if (subscriber.channel === channel) subscriber.onMessage(payload);
    }
  }
}
