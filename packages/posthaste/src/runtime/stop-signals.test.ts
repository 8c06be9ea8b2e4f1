import { afterEach, describe, expect, test, vi } from "vitest";
import { onStopSignals } from "./stop-signals.ts";

let unhook = (): void => {};
afterEach(() => unhook());

function hook() {
  const stop = vi.fn();
  const hurry = vi.fn();
  unhook = onStopSignals(stop, hurry);
  return { stop, hurry };
}

describe("onStopSignals", () => {
  // Emitted, not sent: a real signal would reach the test runner too.
  test("asks to stop on the first signal and to hurry on each further one", () => {
    const { stop, hurry } = hook();
    process.emit("SIGTERM");
    expect([stop.mock.calls.length, hurry.mock.calls.length]).toEqual([1, 0]);
    process.emit("SIGINT");
    process.emit("SIGTERM");
    expect([stop.mock.calls.length, hurry.mock.calls.length]).toEqual([1, 2]);
  });

  test("leaves no listener on the process after it is removed", () => {
    const before = process.listenerCount("SIGTERM") + process.listenerCount("SIGINT");
    hook();
    unhook();
    expect(process.listenerCount("SIGTERM") + process.listenerCount("SIGINT")).toBe(before);
  });
});
