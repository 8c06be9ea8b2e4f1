import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { loggerOf } from "../domain/logger.ts";
import { Outage, OutageReport } from "./outage.ts";

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const resilience = {
  dbRetryInitialMs: 500,
  dbRetryMaxMs: 2_000,
  dbRetryMaxAttempts: 0,
  notifyPollIntervalMs: 5_000,
};
const away = new Error("Connection terminated unexpectedly");

function setUp(over: Partial<typeof resilience> = {}) {
  const lines: string[] = [];
  const log = loggerOf((_level, _fields, message) => lines.push(message));
  return { lines, outage: new Outage({ ...resilience, ...over }, new OutageReport(log)) };
}

async function pausesOf(outage: Outage, count: number): Promise<number[]> {
  const pauses: number[] = [];
  for (let n = 0; n < count; n++) {
    const begun = Date.now();
    const waiting = outage.wait(away);
    await vi.runAllTimersAsync();
    await waiting;
    pauses.push(Date.now() - begun);
  }
  return pauses;
}

describe("Outage", () => {
  test("grows its pauses from dbRetryInitialMs to dbRetryMaxMs, and starts again after a success", async () => {
    const { outage } = setUp();
    expect(await pausesOf(outage, 4)).toEqual([500, 1_000, 2_000, 2_000]);
    outage.over();
    expect(await pausesOf(outage, 1)).toEqual([500]);
  });

  test("logs one line when the database is lost and one when it is back", async () => {
    const { outage, lines } = setUp();
    outage.over();
    await pausesOf(outage, 5);
    outage.over();
    outage.over();
    expect(lines).toEqual([
      "database unreachable; retrying, running tasks continue",
      "database reachable again",
    ]);
  });

  test("throws the error after dbRetryMaxAttempts pauses in a row", async () => {
    const { outage } = setUp({ dbRetryMaxAttempts: 3 });
    await pausesOf(outage, 3);
    await expect(outage.wait(away)).rejects.toBe(away);
  });

  test("ends its pause when the worker must stop", async () => {
    const { outage } = setUp();
    const waiting = outage.wait(away);
    outage.cutShort();
    await waiting;
    expect(vi.getTimerCount()).toBe(0);
  });

  test("ends its pause when the database is reported back; the next pause is longer if it is not", async () => {
    const { outage } = setUp();
    const waiting = outage.wait(away);
    outage.onReachable();
    await waiting;
    expect(vi.getTimerCount()).toBe(0);
    expect(await pausesOf(outage, 1)).toEqual([1_000]);
  });

  test("ignores a report of return that comes before its pause", async () => {
    const { outage } = setUp();
    outage.onReachable();
    expect(await pausesOf(outage, 1)).toEqual([500]);
  });

  test("spreads the pauses of many workers by a quarter both ways, below the cap", async () => {
    vi.mocked(Math.random).mockRestore();
    const first: number[] = [];
    const capped: number[] = [];
    for (let n = 0; n < 200; n++) {
      const [one = 0, , , fourth = 0] = await pausesOf(setUp().outage, 4);
      first.push(one);
      capped.push(fourth);
    }
    expect(Math.min(...first)).toBeGreaterThanOrEqual(375);
    expect(Math.max(...first)).toBeLessThanOrEqual(626); // timers count whole milliseconds
    expect(Math.max(...first) - Math.min(...first)).toBeGreaterThan(150);
    expect(Math.min(...capped)).toBeGreaterThanOrEqual(1_500);
    expect(Math.max(...capped)).toBe(2_000);
  });

  test("retries forever with 0 attempts", async () => {
    const { outage } = setUp({ dbRetryMaxAttempts: 0 });
    expect((await pausesOf(outage, 200)).at(-1)).toBe(2_000);
  });

  test("counts attempts again from zero after a success", async () => {
    const { outage } = setUp({ dbRetryMaxAttempts: 2 });
    await pausesOf(outage, 2);
    outage.over();
    await pausesOf(outage, 2);
    await expect(outage.wait(away)).rejects.toBe(away);
  });

  test("probes the database during a long pause and tries again as soon as it answers", async () => {
    const log = loggerOf(() => undefined);
    let asked = 0;
    const probe = async (): Promise<void> => {
      if (++asked < 3) throw away;
    };
    const slow = { ...resilience, dbRetryInitialMs: 30_000, dbRetryMaxMs: 30_000 };
    const outage = new Outage(slow, new OutageReport(log), probe);
    const begun = Date.now();
    const waiting = outage.wait(away);
    await vi.runAllTimersAsync();
    await waiting;
    expect({ asked, waited: Date.now() - begun }).toEqual({ asked: 3, waited: 6_000 });
    expect(vi.getTimerCount()).toBe(0);
    // A statement that was refused is no outage: whether the database answers says nothing.
    void outage.wait(new Error("permission denied"));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(asked).toBe(3);
  });

  test("logs a lasting outage again after one minute, two, four, and so on", async () => {
    const { lines, outage } = setUp();
    for (const end = Date.now() + 17 * 60_000; Date.now() < end;) await pausesOf(outage, 1);
    expect(lines).toEqual([
      "database unreachable; retrying, running tasks continue",
      ...Array<string>(5).fill("database still unreachable; retrying"),
    ]);
    outage.over();
    expect(lines.at(-1)).toBe("database reachable again");
  });
});
