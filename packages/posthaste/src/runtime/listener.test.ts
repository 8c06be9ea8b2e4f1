import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Listener, type ListenSession } from "./listener.ts";

/** A session in memory, so that losing one is a call and not a race. */
class FakeSession implements ListenSession {
  readonly channels: string[] = [];
  readonly lost: Promise<Error>;
  echoes = 0;
  hears = true;
  isOurs = true;
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

const OWN = "own";

function setUp({ isSilent = false, isOurs = true } = {}) {
  const sessions: FakeSession[] = [];
  const downs: string[] = [];
  const silences: string[] = [];
  const listener = new Listener({
    open: async () => {
      const session = new FakeSession();
      session.hears = !isSilent;
      session.isOurs = isOurs;
      sessions.push(session);
      return session;
    },
    notify: async (channel) => {
      const session = sessions.at(-1);
      if (session === undefined || session.isOver) throw new Error("Connection terminated");
      session.echoes++;
      if (session.hears) session.tell(channel, "");
    },
    ownChannel: OWN,
    backoff: { initialMs: 100, maxMs: 3_000 },
    onDown: (error) => downs.push(String(error)),
    onUp: () => undefined,
    onSilent: ({ waitedMs, isPooled }) =>
      silences.push(`${isPooled ? "pooled" : "direct"}, ${waitedMs}`),
  });
  const subscribe = (channel: string) => {
    const heard: string[] = [];
    const subscription = listener.subscribe(channel, {
      onMessage: (payload) => heard.push(payload),
      onUp: () => heard.push("up"),
    });
    return { heard, ...subscription };
  };
  return { sessions, downs, silences, listener, subscribe };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("Listener", () => {
  test("opens no session before the first subscription", async () => {
    const { sessions, listener } = setUp();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sessions).toHaveLength(0);
    await listener.close();
  });

  test("shares one session, and gives each subscriber its own channel only", async () => {
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

  test("passes nothing on after an unsubscribe", async () => {
    const { sessions, listener, subscribe } = setUp();
    const gone = subscribe("a");
    await gone.ready;
    gone.unsubscribe();
    sessions[0]?.tell("a", "late");
    expect(gone.heard).toEqual(["up"]);
    await listener.close();
  });

  test("replaces a lost session, listens to every channel again and tells subscribers to look", async () => {
    const { sessions, downs, listener, subscribe } = setUp();
    const { heard, ready } = subscribe("a");
    await ready;
    sessions[0]?.lose(new Error("terminated by the administrator"));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sessions[1]?.channels).toEqual([OWN, "a"]);
    expect(heard).toEqual(["up", "up"]);
    expect(downs).toEqual(["Error: terminated by the administrator"]);
    await listener.close();
  });

  test("replaces a session that hears no echo although its TCP connection is open", async () => {
    const { sessions, downs, listener, subscribe } = setUp();
    await subscribe("a").ready;
    const [first] = sessions;
    if (first !== undefined) first.hears = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(first?.echoes).toBe(2);
    expect(sessions).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(first?.isOver).toBe(true);
    expect(sessions).toHaveLength(2);
    expect(downs).toEqual(["Error: notifications do not arrive any more"]);
    await listener.close();
  });

  test("stops listening behind a pooler without an echo: reports it once and retries every minute", async () => {
    const { sessions, downs, silences, listener, subscribe } = setUp({
      isSilent: true,
      isOurs: false,
    });
    const { ready, heard } = subscribe("a");
    await vi.advanceTimersByTimeAsync(2_000);
    await ready;
    await subscribe("b").ready; // at once
    expect(sessions[0]).toMatchObject({ channels: [OWN], isOver: true });
    await vi.advanceTimersByTimeAsync(130_000);
    expect(sessions).toHaveLength(3);
    expect(silences).toEqual(["pooled, 2000"]);
    expect(downs).toEqual([]);
    expect(heard).toEqual([]);
    await listener.close();
  });

  test("counts a late first echo without waiting for it", async () => {
    const { sessions, downs, silences, listener, subscribe } = setUp({ isSilent: true });
    const { ready, heard } = subscribe("a");
    await vi.advanceTimersByTimeAsync(2_000);
    await ready;
    expect([silences, heard]).toEqual([["direct, 2000"], []]);
    await vi.advanceTimersByTimeAsync(1_000);
    sessions[0]?.tell(OWN, "");
    await vi.advanceTimersByTimeAsync(0);
    expect(sessions.map(({ channels }) => channels)).toEqual([[OWN, "a"]]);
    expect([silences, downs, heard]).toEqual([["direct, 2000"], [], ["up"]]);
    await listener.close();
  });

  test("asks a session of its own again and replaces it within seconds without an echo", async () => {
    const { sessions, silences, listener, subscribe } = setUp({ isSilent: true });
    subscribe("a");
    await vi.advanceTimersByTimeAsync(6_000);
    expect([sessions.length, sessions[0]?.echoes]).toEqual([1, 3]);
    await vi.advanceTimersByTimeAsync(9_000);
    expect([sessions.length, sessions[0]?.isOver]).toEqual([2, true]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sessions.length).toBeGreaterThanOrEqual(5);
    expect(silences).toEqual(["direct, 2000"]);
    await listener.close();
  });

  test("replaces a session at once when it is lost before its first echo", async () => {
    const { sessions, downs, listener, subscribe } = setUp({ isSilent: true });
    subscribe("a");
    await vi.advanceTimersByTimeAsync(100);
    sessions[0]?.lose(new Error("terminated by the administrator"));
    await vi.advanceTimersByTimeAsync(500);
    expect(sessions).toHaveLength(2);
    expect(downs).toEqual(["Error: terminated by the administrator"]);
    await listener.close();
  });

  test("reports silence again when it returns", async () => {
    const { sessions, silences, listener, subscribe } = setUp({ isSilent: true });
    subscribe("a");
    await vi.advanceTimersByTimeAsync(3_000);
    sessions[0]?.tell(OWN, "");
    await vi.advanceTimersByTimeAsync(40_000);
    expect(silences).toEqual(["direct, 2000", "direct, 2000"]);
    await listener.close();
  });

  test("leaves nothing open when it closes before its first echo", async () => {
    const { sessions, silences, listener, subscribe } = setUp({ isSilent: true });
    subscribe("a");
    await vi.advanceTimersByTimeAsync(100);
    await listener.close();
    expect(sessions[0]?.isOver).toBe(true);
    expect({ silences, timers: vi.getTimerCount() }).toEqual({ silences: [], timers: 0 });
  });

  test("ends its session when it closes and opens no other", async () => {
    const { sessions, downs, listener, subscribe } = setUp();
    await subscribe("a").ready;
    await listener.close();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sessions).toHaveLength(1);
    expect(sessions[0]?.isOver).toBe(true);
    expect(downs).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("keeps trying to open a session, with growing pauses", async () => {
    let tries = 0;
    const listener = new Listener({
      open: async () => {
        tries++;
        throw new Error("refused");
      },
      notify: async () => undefined,
      ownChannel: OWN,
      backoff: { initialMs: 100, maxMs: 3_000 },
      onDown: () => undefined,
      onUp: () => undefined,
      onSilent: () => undefined,
    });
    listener.subscribe("a", { onMessage: () => undefined, onUp: () => undefined });
    await vi.advanceTimersByTimeAsync(1_000);
    const early = tries;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(early).toBeGreaterThanOrEqual(3);
    expect(tries - early).toBeLessThan(30);
    expect(tries - early).toBeGreaterThan(5);
    await listener.close();
  });
});
