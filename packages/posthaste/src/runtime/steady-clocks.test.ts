import { describe, expect, test } from "vitest";
import { SteadyClocks, type ClockReadings } from "./steady-clocks.ts";

const EVERY_MS = 10_000;
const begun: ClockReadings = {
  monotonicMs: 1_000,
  wallMs: 1_700_000_000_000,
  serverMs: 1_700_000_000_500,
  answeredInMs: 1,
};

function after(
  passedMs: number,
  off: { wall?: number; server?: number; answeredInMs?: number } = {},
) {
  const { wall = 0, server = 0, answeredInMs = 1 } = off;
  return {
    monotonicMs: begun.monotonicMs + passedMs,
    wallMs: begun.wallMs + passedMs + wall,
    serverMs: begun.serverMs + passedMs + server,
    answeredInMs,
  };
}

function verdict(now: ClockReadings): string | undefined {
  const clocks = new SteadyClocks(EVERY_MS);
  clocks.check(begun);
  return clocks.check(now);
}

describe("SteadyClocks", () => {
  test("trusts the second look when time passed as expected, not the first", () => {
    const clocks = new SteadyClocks(EVERY_MS);
    expect(clocks.check(begun)).toBe("nothing is known of the time before");
    expect(clocks.check(after(10_500))).toBeUndefined();
  });

  describe("does not trust a time", () => {
    test.each([
      ["this process was frozen", after(60_000), "did not look for 60000 ms"],
      ["the machine slept", after(10_000, { wall: 60_000 }), "the machine slept"],
      [
        "this machine's clock was set back",
        after(10_000, { wall: -60_000 }),
        "jumped by -60000 ms",
      ],
      [
        "the server's clock was set forward",
        after(10_000, { server: 60_000 }),
        "clock of the server jumped",
      ],
      [
        "the server's clock was set back",
        after(10_000, { server: -60_000 }),
        "clock of the server jumped",
      ],
      [
        "the server did not answer",
        after(10_000, { answeredInMs: 6_000 }),
        "took 6000 ms to answer",
      ],
    ])("when %s", (_, now, expected) => expect(verdict(now)).toContain(expected));

    test("but trusts the look after that", () => {
      const clocks = new SteadyClocks(EVERY_MS);
      clocks.check(begun);
      expect(clocks.check(after(60_000))).toBeDefined();
      expect(clocks.check(after(70_000))).toBeUndefined();
    });

    test("when the previous answer came too late to date it", () => {
      const clocks = new SteadyClocks(EVERY_MS);
      clocks.check(begun);
      expect(clocks.check(after(10_000, { answeredInMs: 6_000 }))).toContain("to answer");
      expect(clocks.check(after(20_000))).toBe("nothing is known of the time before");
      expect(clocks.check(after(30_000))).toBeUndefined();
    });

    test("when the server was unreachable since", () => {
      const clocks = new SteadyClocks(EVERY_MS);
      clocks.check(begun);
      clocks.forget();
      expect(clocks.check(after(10_000))).toBeDefined();
    });
  });

  test.each([
    ["a busy loop", after(14_000)],
    ["a clock that is being slewed", after(10_000, { wall: 900, server: -900 })],
    ["a loaded server", after(10_000, { answeredInMs: 900 })],
    ["a look that came early, after another kind", after(10)],
  ])("trusts a time despite %s", (_, now) => expect(verdict(now)).toBeUndefined());

  test("allows two seconds of delay to a look every second", () => {
    const clocks = new SteadyClocks(1_000);
    clocks.check(begun);
    expect(clocks.check(after(3_000))).toBeUndefined();
    expect(clocks.check(after(7_000))).toBeDefined();
  });
});
