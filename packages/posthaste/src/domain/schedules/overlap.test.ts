import { describe, expect, test } from "vitest";
import { decideOverlap } from "./overlap.ts";

const free = { isBusy: false, buffered: null };
const busy = { isBusy: true, buffered: null };

describe("decideOverlap", () => {
  test("allow fires everything", () =>
    expect(decideOverlap("allow", busy, [1, 2])).toEqual({
      fire: [1, 2],
      skipped: [],
      buffered: null,
    }));

  test.each(["skip", "buffer", "cancel"] as const)("%s fires when nothing runs", (policy) =>
    expect(decideOverlap(policy, free, [1])).toEqual({ fire: [1], skipped: [], buffered: null }),
  );

  test("skip skips while the last one runs, and what comes together after the first", () => {
    expect(decideOverlap("skip", busy, [1])).toEqual({ fire: [], skipped: [1], buffered: null });
    expect(decideOverlap("skip", free, [1, 2])).toEqual({
      fire: [1],
      skipped: [2],
      buffered: null,
    });
  });

  test.each(["buffer", "cancel"] as const)("%s keeps one slot and skips the others", (policy) => {
    expect(decideOverlap(policy, busy, [1, 2])).toEqual({ fire: [], skipped: [2], buffered: 1 });
    expect(decideOverlap(policy, { isBusy: true, buffered: 1 }, [2])).toEqual({
      fire: [],
      skipped: [2],
      buffered: 1,
    });
  });

  test.each(["buffer", "cancel"] as const)(
    "%s fires the kept slot when the last one has ended",
    (policy) => {
      expect(decideOverlap(policy, { isBusy: false, buffered: 1 }, [])).toEqual({
        fire: [1],
        skipped: [],
        buffered: null,
      });
      expect(decideOverlap(policy, { isBusy: false, buffered: 1 }, [2])).toEqual({
        fire: [1],
        skipped: [],
        buffered: 2,
      });
    },
  );

  test("skip keeps a slot that waited when the policy changed, and fires it when the last one has ended", () => {
    expect(decideOverlap("skip", { isBusy: true, buffered: 1 }, [2])).toEqual({
      fire: [],
      skipped: [2],
      buffered: 1,
    });
    expect(decideOverlap("skip", { isBusy: false, buffered: 1 }, [2])).toEqual({
      fire: [1],
      skipped: [2],
      buffered: null,
    });
  });
});
