import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Periodic } from "./periodic.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("Periodic", () => {
  test("calls again and again, first after one period", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const run = vi.fn(async () => undefined);
    const periodic = new Periodic({ everyMs: 1_000, run, onError: () => undefined });
    await vi.advanceTimersByTimeAsync(999);
    expect(run).toHaveBeenCalledTimes(0);
    await vi.advanceTimersByTimeAsync(2_001);
    expect(run).toHaveBeenCalledTimes(3);
    await periodic.stop();
  });

  test("spreads a period by a tenth", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const run = vi.fn(async () => undefined);
    const periodic = new Periodic({ everyMs: 1_000, run, onError: () => undefined });
    await vi.advanceTimersByTimeAsync(900);
    expect(run).toHaveBeenCalledTimes(1);
    await periodic.stop();
  });

  test("reports a failed call and goes on", async () => {
    const failures: unknown[] = [];
    const run = vi.fn(async () => {
      throw new Error(`run ${run.mock.calls.length}`);
    });
    const periodic = new Periodic({
      everyMs: 100,
      run,
      onError: (error) => failures.push(String(error)),
    });
    await vi.advanceTimersByTimeAsync(250);
    expect(failures).toEqual(["Error: run 1", "Error: run 2"]);
    await periodic.stop();
  });

  test("does not start a call while a slow one is under way", async () => {
    let finish = (): void => {};
    const run = vi.fn(() => new Promise<void>((resolve) => (finish = resolve)));
    const periodic = new Periodic({ everyMs: 100, run, onError: () => undefined });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(run).toHaveBeenCalledTimes(1);
    const stopping = periodic.stop();
    finish();
    await stopping;
  });

  test("waits for the call under way when it stops, and leaves no timer", async () => {
    let finish = (): void => {};
    const run = vi.fn(() => new Promise<void>((resolve) => (finish = resolve)));
    const periodic = new Periodic({ everyMs: 100, run, onError: () => undefined });
    await vi.advanceTimersByTimeAsync(200);
    let isStopped = false;
    const stopping = periodic.stop().then(() => (isStopped = true));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(isStopped).toBe(false);
    finish();
    await stopping;
    expect(vi.getTimerCount()).toBe(0);
    expect(run).toHaveBeenCalledTimes(1);
  });
});
