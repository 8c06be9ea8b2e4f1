import { afterEach, beforeEach, expect, test, vi } from "vitest";
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

test("pauses grow from dbRetryInitialMs to dbRetryMaxMs and begin again after a success", async () => {
  const { outage } = setUp();
  expect(await pausesOf(outage, 4)).toEqual([500, 1_000, 2_000, 2_000]);
  outage.over();
  expect(await pausesOf(outage, 1)).toEqual([500]);
});

test("one line says that the database went and one that it is back, however long it took", async () => {
  const { outage, lines } = setUp();
  outage.over();
  await pausesOf(outage, 5);
  outage.over();
  outage.over();
  expect(lines).toEqual([
    "database unreachable; running tasks go on, retrying",
    "database reachable again",
  ]);
});

test("after dbRetryMaxAttempts pauses in a row the error is thrown", async () => {
  const { outage } = setUp({ dbRetryMaxAttempts: 3 });
  await pausesOf(outage, 3);
  await expect(outage.wait(away)).rejects.toBe(away);
});

test("a worker that must stop does not wait for the pause to end", async () => {
  const { outage } = setUp();
  const waiting = outage.wait(away);
  outage.cutShort();
  await waiting;
  expect(vi.getTimerCount()).toBe(0);
});

test("whoever hears that the database is back ends the pause; if it is not, the next one is longer", async () => {
  const { outage } = setUp();
  const waiting = outage.wait(away);
  outage.hearOfReturn();
  await waiting;
  expect(vi.getTimerCount()).toBe(0);
  expect(await pausesOf(outage, 1)).toEqual([1_000]);
});

test("word of a return that comes before the pause does not end it", async () => {
  const { outage } = setUp();
  outage.hearOfReturn();
  expect(await pausesOf(outage, 1)).toEqual([500]);
});

test("pauses of many workers are spread by a quarter to both sides, and none is longer than the cap", async () => {
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

test("0 attempts means for ever", async () => {
  const { outage } = setUp({ dbRetryMaxAttempts: 0 });
  expect((await pausesOf(outage, 200)).at(-1)).toBe(2_000);
});

test("a success between two failures begins the count of attempts again", async () => {
  const { outage } = setUp({ dbRetryMaxAttempts: 2 });
  await pausesOf(outage, 2);
  outage.over();
  await pausesOf(outage, 2);
  await expect(outage.wait(away)).rejects.toBe(away);
});

test("during a long pause it looks out for the database, and tries again as soon as it answers", async () => {
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

test("an outage that lasts is said again after a minute, two, four, and so on", async () => {
  const { lines, outage } = setUp();
  for (const end = Date.now() + 17 * 60_000; Date.now() < end;) await pausesOf(outage, 1);
  expect(lines).toEqual([
    "database unreachable; running tasks go on, retrying",
    ...Array<string>(5).fill("database still unreachable; retrying"),
  ]);
  outage.over();
  expect(lines.at(-1)).toBe("database reachable again");
});
