import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Connection, ConnectionOptions } from "./connection.ts";
import { openSession } from "./open-session.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const options: ConnectionOptions = {
  url: "postgres://nobody@127.0.0.1:1/none",
  applicationName: "test",
  profile: "reads",
  preparedStatements: undefined,
};

/** Sessions that are answered when the test says so. */
function attempts() {
  const closed: number[] = [];
  const begun: { answer: () => void; refuse: (error: Error) => void }[] = [];
  const open = (): Promise<Connection> =>
    new Promise((resolve, reject) => {
      const number = begun.length;
      const close = async (): Promise<void> => void closed.push(number);
      begun.push({
        answer: () => resolve({ number, close } as unknown as Connection),
        refuse: reject,
      });
    });
  return { begun, closed, open };
}

describe("openSession", () => {
  test("makes one attempt when it is answered in time", async () => {
    const { begun, open } = attempts();
    const opening = openSession(options, open);
    begun[0]?.answer();
    expect(await opening).toMatchObject({ number: 0 });
    expect({ attempts: begun.length, timers: vi.getTimerCount() }).toEqual({
      attempts: 1,
      timers: 0,
    });
  });

  test("starts a second attempt on silence; takes the first answer and closes a late one", async () => {
    const { begun, closed, open } = attempts();
    const opening = openSession(options, open);
    await vi.advanceTimersByTimeAsync(2_500);
    begun[1]?.answer();
    expect(await opening).toMatchObject({ number: 1 });
    begun[0]?.answer();
    await vi.advanceTimersByTimeAsync(60_000);
    expect({ attempts: begun.length, closed }).toEqual({ attempts: 2, closed: [0] });
  });

  test("takes a refusal as an answer", async () => {
    const { begun, open } = attempts();
    const opening = openSession(options, open);
    begun[0]?.refuse(new Error("no such database"));
    await expect(opening).rejects.toThrow("no such database");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(begun).toHaveLength(1);
  });

  test("makes at most four attempts at once", async () => {
    const { begun, open } = attempts();
    void openSession(options, open);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(begun).toHaveLength(4);
  });
});
