import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { loggerOf } from "../domain/logger.ts";
import { queueChannel } from "../store/channels.ts";
import type { Db } from "../store/sql.ts";
import { createStore } from "../store/store.ts";
import { WorkerWaker, notifyQueuesNow } from "./wake-workers.ts";

const store = createStore("posthaste");
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** A session that remembers what it was told to notify, as [queue, payload]. */
function recordingDb(): Db & { readonly sent: [string, string][] } {
  const names = new Map(
    ["a", "b"].map((queue) => [queueChannel("posthaste", queue), queue] as const),
  );
  const sent: [string, string][] = [];
  return {
    sent,
    query: async (_statement, [channels, payloads] = []) => {
      for (const [index, channel] of (channels as string[]).entries()) {
        sent.push([names.get(channel) ?? channel, (payloads as string[])[index] ?? ""]);
      }
      return [];
    },
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("WorkerWaker", () => {
  test("sends the first notification at once, one for each queue", () => {
    const db = recordingDb();
    new WorkerWaker(store, silent).notify(db, [
      { queue: "a", priority: 100, due: 0 },
      { queue: "b", priority: 1, due: 300 },
      { queue: "a", priority: 100, due: 5 },
    ]);
    expect(db.sent).toEqual([
      ["a", "100:0"],
      ["b", "1:300"],
    ]);
  });

  test("reduces many sends to a few notifications, and always sends the last one", async () => {
    const db = recordingDb();
    const waker = new WorkerWaker(store, silent);
    for (let n = 0; n < 1_000; n++) waker.notify(db, [{ queue: "a", priority: 100, due: 1_000 }]);
    waker.notify(db, [{ queue: "b", priority: 7, due: 0 }]);
    await vi.advanceTimersByTimeAsync(10);
    expect(db.sent).toEqual([
      ["a", "100:1000"],
      ["a", "100:1000"],
      ["b", "7:0"],
    ]);
  });

  test("sends each notification on the session of its insert, after it", async () => {
    const sends = recordingDb();
    const bulk = recordingDb();
    const waker = new WorkerWaker(store, silent);
    waker.notify(bulk, [{ queue: "a", priority: 1, due: 0 }]);
    waker.notify(bulk, [{ queue: "a", priority: 2, due: 0 }]);
    waker.notify(sends, [{ queue: "a", priority: 3, due: 0 }]);
    await vi.advanceTimersByTimeAsync(10);
    expect(bulk.sent).toEqual([
      ["a", "1:0"],
      ["a", "2:0"],
    ]);
    expect(sends.sent).toEqual([["a", "3:0"]]);
  });

  test("logs a failed notification and sends the next", async () => {
    const lines: string[] = [];
    const waker = new WorkerWaker(store, {
      ...silent,
      ...loggerOf((_level, _fields, message) => lines.push(message)),
    });
    const broken: Db = { query: () => Promise.reject(new Error("queue is full")) };
    waker.notify(broken, [{ queue: "a", priority: 1, due: 0 }]);
    await vi.advanceTimersByTimeAsync(10);
    const db = recordingDb();
    waker.notify(db, [{ queue: "a", priority: 2, due: 0 }]);
    expect(lines).toEqual(["could not notify workers; they find the task by polling"]);
    expect(db.sent).toEqual([["a", "2:0"]]);
  });

  test("sends collected notifications early on request", async () => {
    const db = recordingDb();
    const waker = new WorkerWaker(store, silent);
    waker.notify(db, [{ queue: "a", priority: 1, due: 0 }]);
    waker.notify(db, [{ queue: "a", priority: 2, due: 0 }]);
    await waker.flush();
    expect(db.sent.map(([, payload]) => payload)).toEqual(["1:0", "2:0"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("notifyQueuesNow sends at once inside a caller's transaction", async () => {
    const db = recordingDb();
    await notifyQueuesNow(db, store, [
      { queue: "a", priority: 1, due: 9 },
      { queue: "a", priority: 1, due: "back" },
    ]);
    expect(db.sent).toEqual([["a", "1:back"]]);
  });
});
