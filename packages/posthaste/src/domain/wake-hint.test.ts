import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeWakeHints, parseWakeHints, type WakeHint } from "./wake-hint.ts";

const hint: fc.Arbitrary<WakeHint> = fc.record({
  priority: fc.integer({ min: 1, max: 100 }),
  due: fc.oneof(fc.constant("back" as const), fc.nat({ max: 999_999_999 })),
});

describe("wake hints", () => {
  test("encodeWakeHints keeps the earliest hint of each priority; back is the earliest", () => {
    const hints: WakeHint[] = [
      { priority: 100, due: 300 },
      { priority: 1, due: 40 },
      { priority: 100, due: 0 },
      { priority: 1, due: "back" },
      { priority: 1, due: 0 },
    ];
    expect(encodeWakeHints(hints)).toBe("100:0,1:back");
  });

  test("parseWakeHints reads the encoded hints back", () => {
    fc.assert(
      fc.property(fc.array(hint), (hints) => {
        const heard = parseWakeHints(encodeWakeHints(hints));
        expect(new Set(heard.map(({ priority }) => priority))).toEqual(
          new Set(hints.map(({ priority }) => priority)),
        );
        for (const { priority, due } of heard) {
          const said = hints.filter((one) => one.priority === priority).map((one) => one.due);
          expect(said).toContain(due);
          const numbers = said.filter((one) => typeof one === "number");
          expect(due).toBe(said.includes("back") ? "back" : Math.min(...numbers));
        }
      }),
    );
  });

  test("encodeWakeHints fits a hint for every priority into a notification", () => {
    const hints = Array.from({ length: 100 }, (_, index) => ({
      priority: index + 1,
      due: 100 * 365 * 24 * 60 * 60 * 1000,
    }));
    expect(encodeWakeHints(hints).length).toBeLessThan(8_000);
  });

  test.each(["", "hello", "0:0", "101:0", "1", "1:", "1:-5", "1:now", ":5", "1:1e3", "1:2:3"])(
    "parseWakeHints ignores %j, which any database user may send",
    (payload) => expect(parseWakeHints(payload)).toEqual([]),
  );

  test("parseWakeHints reads the valid hints and drops the rest", () => {
    expect(parseWakeHints("x,7:5,,3:back,999:1")).toEqual([
      { priority: 7, due: 5 },
      { priority: 3, due: "back" },
    ]);
  });

  test("parseWakeHints never throws on a payload", () => {
    fc.assert(
      fc.property(fc.string(), (payload) => {
        for (const { priority } of parseWakeHints(payload)) {
          expect(priority).toBeGreaterThanOrEqual(1);
          expect(priority).toBeLessThanOrEqual(100);
        }
      }),
    );
  });
});
