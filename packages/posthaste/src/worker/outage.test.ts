import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LogLine } from "../domain/logger.ts";
import { Outage } from "./outage.ts";

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
  const line: LogLine = (first: object | string, message?: string) => {
    lines.push(typeof first === "string" ? first : (message ?? ""));
  };
  const log = { debug: line, info: line, warn: line, error: line };
  return { lines, outage: new Outage({ ...resilience, ...over }, log) };
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
    "the database does not answer; running tasks go on, and the worker tries again",
    "the database answers again",
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
