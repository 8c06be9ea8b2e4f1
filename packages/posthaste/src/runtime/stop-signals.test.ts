import { afterEach, expect, test, vi } from "vitest";
import { onStopSignals } from "./stop-signals.ts";

let unhook = (): void => {};
afterEach(() => unhook());

function hook() {
  const stop = vi.fn();
  const hurry = vi.fn();
  unhook = onStopSignals(stop, hurry);
  return { stop, hurry };
}

// Emitted, not sent: a real signal would reach the test runner too.
test("the first signal asks to stop, every further one to hurry, whichever they are", () => {
  const { stop, hurry } = hook();
  process.emit("SIGTERM");
  expect([stop.mock.calls.length, hurry.mock.calls.length]).toEqual([1, 0]);
  process.emit("SIGINT");
  process.emit("SIGTERM");
  expect([stop.mock.calls.length, hurry.mock.calls.length]).toEqual([1, 2]);
});

test("unhooked, nothing is left on the process", () => {
  const before = process.listenerCount("SIGTERM") + process.listenerCount("SIGINT");
  hook();
  unhook();
  expect(process.listenerCount("SIGTERM") + process.listenerCount("SIGINT")).toBe(before);
});
