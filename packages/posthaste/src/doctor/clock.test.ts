import { describe, expect, test } from "vitest";
import { examineClock } from "./server.ts";

describe("examineClock", () => {
  test.each([
    [0, 1],
    [1_900, 5],
    [-1_900, 5],
    [4_000, 2_500], // a slow answer says little about the clock
  ])("is silent at %i ms, asked in %i ms", (aheadMs, roundTripMs) =>
    expect(examineClock({ aheadMs, roundTripMs })).toEqual([]),
  );

  test.each([
    [60_000, "60000 ms ahead of"],
    [-3_000, "3000 ms behind"],
  ])("names a difference of %i ms", (aheadMs, words) =>
    expect(examineClock({ aheadMs, roundTripMs: 4 })).toMatchObject([
      { code: "CLOCK_DIFFERS", level: "warning", message: expect.stringContaining(words) },
    ]),
  );
});
