/**
 * One LISTEN session for all subscribers of this process. It survives a killed backend, a reset and a half-open connection (which TCP
 * keepalive does not detect). Notifications sent while it was down are lost: `onUp` tells every subscriber when it is up again.
 *
 * It checks itself: at its start and every few seconds it sends a notification to its own channel. While the first echo is missing, that
 * is reported once and subscribers poll. On an own session the echo may be late, so it waits for it with growing limits; behind a pooler
 * that gives each transaction another session it never comes, and is tried every minute.
 */
import { Backoff, type BackoffOptions } from "./backoff.ts";
import { pause } from "./pause.ts";

/** The parts of a session that a listener needs. */
export interface ListenSession {
  readonly lost: Promise<Error>;
  /** False: a pooler stands between, which may give each transaction another session. */
  readonly isOurs: boolean;
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
  /** A channel of its own. */
  readonly ownChannel: string;
  /** Pauses between attempts to open a session. */
  readonly backoff: BackoffOptions;
  readonly onDown: (error: unknown) => void;
  /** It listens again. Said once for each time that it was down. */
  readonly onUp: (downMs: number) => void;
  /** The session answers, but the first echo does not come. Called once until it comes. */
  readonly onSilent: (silence: Silence) => void;
}

export interface Silence {
  readonly waitedMs: number;
  readonly isPooled: boolean;
}

interface Subscriber {
  readonly channel: string;
  readonly onMessage: (payload: string) => void;
  readonly onUp: () => void;
  readonly markReady: () => void;
}

const ECHO_EVERY_MS = 10_000;
const ECHO_TIMEOUT_MS = 5_000;
/** On a session that has just answered, an echo takes milliseconds, unless server or network are very busy. */
const FIRST_ECHO_TIMEOUT_MS = 2_000;
/** How long it waits for each further echo before it opens another session. */
const LATE_ECHO_TIMEOUTS_MS = [4_000, 8_000];
/** Behind a pooler each try leaves a LISTEN behind in a session of another client. */
const POOLED_RETRY_MS = 60_000;

export class Listener {
  readonly #options: ListenerOptions;
  readonly #subscribers = new Set<Subscriber>();
  readonly #stop = new AbortController();
  /** The session, once its echo came. */
  #session: ListenSession | undefined;
  #loop: Promise<void> | undefined;
  #onEcho: () => void = () => undefined;
  #isSilenceKnown = false;
  #downSince: number | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** `onUp` is called each time the channel is up again: earlier notifications may be lost. */
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
        if (!isHeard) {
          await session.close();
          rest = session.isOurs ? undefined : POOLED_RETRY_MS;
        } else {
          this.#session = session;
          this.#isSilenceKnown = false;
          await this.#listen(session, [...this.#subscribers]);
          backoff.reset();
          await this.#watch(session);
        }
      } catch (error) {
        this.#report(error);
      }
      this.#session = undefined;
      await pause(rest ?? backoff.next(), this.#stop.signal);
    }
  }

  /** Before LISTEN on other channels: behind a pooler these would stay behind in a session of another client. */
  async #isHeard(session: ListenSession): Promise<boolean> {
    await session.listen(this.#options.ownChannel);
    const isPooled = !session.isOurs;
    const lost = session.lost.then((error) => Promise.reject(error));
    lost.catch(() => undefined); // it is looked at only while an echo is awaited
    for (const ms of [FIRST_ECHO_TIMEOUT_MS, ...(isPooled ? [] : LATE_ECHO_TIMEOUTS_MS)]) {
      if (await Promise.race([this.#echo(ms), lost])) return true;
      if (this.#stop.signal.aborted) return false;
      this.#beSilent({ waitedMs: FIRST_ECHO_TIMEOUT_MS, isPooled });
    }
    return false;
  }

  #beSilent(silence: Silence): void {
    if (!this.#isSilenceKnown) this.#options.onSilent(silence);
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
    if (this.#downSince !== undefined) this.#options.onUp(performance.now() - this.#downSince);
    this.#downSince = undefined;
    for (const { markReady, onUp } of subscribers) {
      markReady();
      onUp();
    }
  }

  /** Throws when the session has ended, does not answer, or no longer gets its echo. */
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
    if (this.#downSince !== undefined || this.#stop.signal.aborted) return;
    this.#downSince = performance.now();
    this.#options.onDown(error);
  }

  #deliver(channel: string, payload: string): void {
    if (channel === this.#options.ownChannel) this.#onEcho();
    for (const subscriber of this.#subscribers) {
      if (subscriber.channel === channel) subscriber.onMessage(payload);
    }
  }
}
