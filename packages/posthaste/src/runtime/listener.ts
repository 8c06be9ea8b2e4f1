/**
 * One LISTEN session for everything in this process that wants to be woken. It survives a killed backend, a reset and
 * a half-open link (TCP keepalive does not see one). Notifications sent while it was down are lost: every subscriber is
 * told when it is up again and looks for itself.
 *
 * It trusts nothing but its own ear: at its start and every few seconds it notifies itself. A session that answers but
 * hears nothing, as behind a pooler that gives each transaction another, is silent: that is said once, everybody polls,
 * and it is tried again now and then.
 */
import { Backoff, type BackoffOptions } from "./backoff.ts";
import { pause } from "./pause.ts";

/** What a listener needs of a session. */
export interface ListenSession {
  readonly lost: Promise<Error>;
  listen(channel: string): Promise<void>;
  onNotification(listener: (channel: string, payload: string) => void): void;
  close(): Promise<void>;
  destroy(): void;
}

export interface Subscription {
  /** Resolves when the channel is listened to for the first time, or when it is clear that listening is in vain. */
  readonly ready: Promise<void>;
  unsubscribe(): void;
}

export interface ListenerOptions {
  readonly open: () => Promise<ListenSession>;
  /**
   * Sends an empty notification through another session: a pooler may give the session that listens the same backend again,
   * and what that tells itself does arrive.
   */
  readonly notify: (channel: string) => Promise<void>;
  /** A channel that nobody else listens on. */
  readonly ownChannel: string;
  /** Pauses between attempts to open a session. */
  readonly backoff: BackoffOptions;
  readonly onDown: (error: unknown) => void;
  /** Sessions answer, but notifications do not arrive. Said once. */
  readonly onSilent: () => void;
}

interface Subscriber {
  readonly channel: string;
  readonly onMessage: (payload: string) => void;
  readonly onUp: () => void;
  readonly markReady: () => void;
}

const ECHO_EVERY_MS = 10_000;
const ECHO_TIMEOUT_MS = 5_000;
/** On a session that has just answered, an echo takes milliseconds. */
const FIRST_ECHO_TIMEOUT_MS = 2_000;
const SILENT_RETRY_MS = 60_000;

export class Listener {
  readonly #options: ListenerOptions;
  readonly #subscribers = new Set<Subscriber>();
  readonly #stop = new AbortController();
  /** The session that is listened on, once it has been heard. */
  #session: ListenSession | undefined;
  #loop: Promise<void> | undefined;
  #onEcho: () => void = () => undefined;
  #isSilenceKnown = false;
  #isDown = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
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
    else if (this.#isSilenceKnown) markReady();
    return { ready, unsubscribe: () => this.#subscribers.delete(subscriber) };
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#session?.close();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const backoff = new Backoff(this.#options.backoff);
    while (!this.#stop.signal.aborted) {
      let rest: number | undefined;
      try {
        const session = await this.#options.open();
        session.onNotification((channel, payload) => this.#deliver(channel, payload));
        const isHeard = !this.#stop.signal.aborted && (await this.#isHeard(session));
        if (this.#stop.signal.aborted) await session.close();
        else if (isHeard) {
          this.#session = session;
          await this.#listen(session, [...this.#subscribers]);
          backoff.reset();
          await this.#watch(session);
        } else {
          await this.#beSilent(session);
          rest = SILENT_RETRY_MS;
        }
      } catch (error) {
        this.#report(error);
      }
      this.#session = undefined;
      await pause(rest ?? backoff.next(), this.#stop.signal);
    }
  }

  /** Before anything else is listened to: a channel that nobody hears would be left behind in somebody else's session. */
  async #isHeard(session: ListenSession): Promise<boolean> {
    await session.listen(this.#options.ownChannel);
    return this.#echo(FIRST_ECHO_TIMEOUT_MS);
  }

  async #beSilent(session: ListenSession): Promise<void> {
    await session.close();
    if (!this.#isSilenceKnown) this.#options.onSilent();
    this.#isSilenceKnown = true;
    for (const { markReady } of this.#subscribers) markReady();
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

  /** Throws when the session is over, does not answer, or does not hear itself any more. */
  async #watch(session: ListenSession): Promise<void> {
    const over = new AbortController();
    let reason: Error | undefined;
    void session.lost.then((error) => {
      reason = error;
      over.abort();
    });
    for (;;) {
      await pause(ECHO_EVERY_MS, over.signal);
      if (reason !== undefined) throw reason;
      const isHeard = await this.#echo(ECHO_TIMEOUT_MS).catch((error: unknown) => {
        session.destroy();
        throw error;
      });
      if (isHeard) continue;
      session.destroy();
      throw reason ?? new Error("notifications do not arrive any more");
    }
  }

  /** Whether a notification to ourselves arrives in time. */
  async #echo(timeoutMs: number): Promise<boolean> {
    const heard = new AbortController();
    let isHeard = false;
    this.#onEcho = () => {
      isHeard = true;
      heard.abort();
    };
    const asked = this.#options.notify(this.#options.ownChannel);
    asked.catch(() => heard.abort()); // awaited below
    const over = AbortSignal.any([heard.signal, this.#stop.signal]);
    await pause(timeoutMs, over);
    if (!isHeard && heard.signal.aborted) await asked; // rejects
    return isHeard;
  }

  /** Once for each time that it is down, however often it is tried. */
  #report(error: unknown): void {
    if (this.#isDown || this.#stop.signal.aborted) return;
    this.#isDown = true;
    this.#options.onDown(error);
  }

  #deliver(channel: string, payload: string): void {
    if (channel === this.#options.ownChannel) this.#onEcho();
    for (const subscriber of this.#subscribers) {
      if (subscriber.channel === channel) subscriber.onMessage(payload);
    }
  }
}
