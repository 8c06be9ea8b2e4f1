import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Listener, type ListenSession } from "./listener.ts";

/** A session in memory, so that losing one is a call and not a race. */
class FakeSession implements ListenSession {
  readonly channels: string[] = [];
  readonly lost: Promise<Error>;
  pings = 0;
  answersPings = true;
  isOver = false;
  lose: (error: Error) => void = () => undefined;
  tell: (channel: string, payload: string) => void = () => undefined;

  constructor() {
    this.lost = new Promise((resolve) => {
      this.lose = (error) => {
        this.isOver = true;
        resolve(error);
      };
    });
  }

  async listen(channel: string): Promise<void> {
    if (this.isOver) throw new Error("Connection terminated");
    this.channels.push(channel);
  }

  async ping(): Promise<void> {
    this.pings++;
    if (this.answersPings) return;
    throw await this.lost;
  }

  onNotification(listener: (channel: string, payload: string) => void): void {
    this.tell = listener;
  }

  async close(): Promise<void> {
    this.lose(new Error("Connection terminated"));
  }

  destroy(): void {
    this.lose(new Error("destroyed"));
  }
}

function setUp() {
  const sessions: FakeSession[] = [];
  const downs: string[] = [];
  const listener = new Listener(
    async () => {
      const session = new FakeSession();
      sessions.push(session);
      return session;
    },
    (error) => downs.push(String(error)),
  );
  const subscribe = (channel: string) => {
    const heard: string[] = [];
    const subscription = listener.subscribe(channel, {
      onMessage: (payload) => heard.push(payload),
      onUp: () => heard.push("up"),
    });
    return { heard, ...subscription };
  };
  return { sessions, downs, listener, subscribe };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("nothing is opened before somebody wants to listen", async () => {
  const { sessions, listener } = setUp();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(sessions).toHaveLength(0);
  await listener.close();
});

test("all subscribers share one session and hear their own channel only", async () => {
  const { sessions, listener, subscribe } = setUp();
  const first = subscribe("a");
  await first.ready;
  const second = subscribe("b");
  await second.ready;
  sessions[0]?.tell("a", "for a");
  sessions[0]?.tell("b", "for b");
  expect(sessions).toHaveLength(1);
  expect(first.heard).toEqual(["up", "for a"]);
  expect(second.heard).toEqual(["up", "for b"]);
  await listener.close();
});

test("who unsubscribed hears nothing more", async () => {
  const { sessions, listener, subscribe } = setUp();
  const gone = subscribe("a");
  await gone.ready;
  gone.unsubscribe();
  sessions[0]?.tell("a", "late");
  expect(gone.heard).toEqual(["up"]);
  await listener.close();
});

test("a lost session is replaced, every channel is listened to again, and subscribers are told to look", async () => {
  const { sessions, downs, listener, subscribe } = setUp();
  const { heard, ready } = subscribe("a");
  await ready;
  sessions[0]?.lose(new Error("terminated by the administrator"));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(sessions[1]?.channels).toEqual(["a"]);
  expect(heard).toEqual(["up", "up"]);
  expect(downs).toEqual(["Error: terminated by the administrator"]);
  await listener.close();
});

test("a session that answers no ping is given up, though TCP believes in it", async () => {
  const { sessions, listener, subscribe } = setUp();
  await subscribe("a").ready;
  const [first] = sessions;
  if (first !== undefined) first.answersPings = false;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(first?.pings).toBe(1);
  expect(sessions).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(sessions).toHaveLength(2);
  await listener.close();
});

test("closing ends the session and opens no other", async () => {
  const { sessions, downs, listener, subscribe } = setUp();
  await subscribe("a").ready;
  await listener.close();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sessions).toHaveLength(1);
  expect(sessions[0]?.isOver).toBe(true);
  expect(downs).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test("while no session can be had it goes on trying, with pauses that grow", async () => {
  let tries = 0;
  const listener = new Listener(
    async () => {
      tries++;
      throw new Error("refused");
    },
    () => undefined,
  );
  listener.subscribe("a", { onMessage: () => undefined, onUp: () => undefined });
  await vi.advanceTimersByTimeAsync(1_000);
  const early = tries;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(early).toBeGreaterThanOrEqual(3);
  expect(tries - early).toBeLessThan(30);
  expect(tries - early).toBeGreaterThan(5);
  await listener.close();
});
