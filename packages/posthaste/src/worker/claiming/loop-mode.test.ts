import { describe, expect, test } from "vitest";
import { isDraining, isFenced, mayClaim, mayStart, nextMode, type LoopEvent } from "./loop-mode.ts";

/** The mode after a sequence of events. */
function after(...events: readonly LoopEvent[]) {
  return events.reduce(nextMode, "claiming" as Parameters<typeof nextMode>[0]);
}

describe("loop mode", () => {
  describe("nextMode", () => {
    test("claims again when a fenced worker reaches the database again", () => {
      expect(after("fence", "unfence")).toBe("claiming");
    });

    test("stays draining when a fence comes during a drain", () => {
      expect(after("drain", "fence")).toBe("drainingFenced");
      expect(after("drain", "fence", "unfence")).toBe("draining");
      expect(after("fence", "drain", "unfence")).toBe("draining");
    });

    test("stays stopped once stopped", () => {
      expect(after("giveUp", "unfence", "drain", "fence")).toBe("stopped");
    });
  });

  test.each([
    ["claiming", { claims: true, starts: true, fenced: false, draining: false }],
    ["fenced", { claims: false, starts: false, fenced: true, draining: false }],
    ["draining", { claims: false, starts: true, fenced: false, draining: true }],
    ["drainingFenced", { claims: false, starts: false, fenced: true, draining: true }],
    ["stopped", { claims: false, starts: false, fenced: false, draining: false }],
  ] as const)("allows claims and starts by mode: %s", (mode, expected) => {
    expect({
      claims: mayClaim(mode),
      starts: mayStart(mode),
      fenced: isFenced(mode),
      draining: isDraining(mode),
    }).toEqual(expected);
  });
});
