import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { collectingLogger } from "../testing/collecting-logger.ts";
import { UnservedQueues } from "./unserved-queues.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watch(find: (queues: readonly string[]) => Promise<readonly string[]>) {
  const log = collectingLogger();
  const asked: (readonly string[])[] = [];
  const queues = new UnservedQueues({
    log,
    findUnserved: async (names) => {
      asked.push(names);
      return find(names);
    },
  });
  const send = (queue: string, id = "1"): void => queues.sent({ id, name: "greet", queue });
  const warnings = () => log.lines.filter(({ level }) => level === "warn");
  return { queues, asked, send, warnings };
}

describe("UnservedQueues", () => {
  test("asks once for all queues that were sent to, and warns of each without a worker", async () => {
    const { asked, send, warnings } = watch(async () => ["nope"]);
    send("nope", "a");
    send("default");
    send("nope", "b");
    expect(asked).toEqual([]);
    await vi.advanceTimersByTimeAsync(5_000);
    send("nope", "c");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toEqual([["nope", "default"]]);
    expect(warnings()).toMatchObject([
      {
        fields: { queue: "nope", name: "greet", task: "a" },
        message: "no live worker serves the queue of this task; the task waits until one starts",
      },
    ]);
  });

  test("asks again for a served queue after ten minutes, never for one it warned of", async () => {
    let unserved = ["nope"];
    const { asked, send, warnings } = watch(async () => unserved);
    const sendBoth = async (): Promise<void> => {
      send("nope");
      send("mail");
      await vi.advanceTimersByTimeAsync(5_000);
    };
    await sendBoth();
    unserved = ["nope", "mail"];
    await vi.advanceTimersByTimeAsync(600_000);
    await sendBoth();
    expect(asked).toEqual([["nope", "mail"], ["mail"]]);
    expect(warnings().map(({ fields }) => fields["queue"])).toEqual(["nope", "mail"]);
  });

  test("asks nothing after it ended, and ignores a failed query", async () => {
    const closed = watch(async () => ["nope"]);
    closed.send("nope");
    await closed.queues.close();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(closed.asked).toEqual([]);

    const failing = watch(() => Promise.reject(new Error("away")));
    failing.send("nope");
    await vi.advanceTimersByTimeAsync(5_000);
    await failing.queues.close();
    expect(failing.warnings()).toEqual([]);
  });
});
