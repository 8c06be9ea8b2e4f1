import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addAll, addTo, bucketOf, percentile } from "./histogram.ts";

function histogramOf(values: readonly number[]): number[] {
  const counts: number[] = [];
  for (const value of values) addTo(counts, value);
  return counts;
}

describe("histogram", () => {
  test("bucketOf() grows with the value and takes any number", () => {
    expect([-1, 0, 0.125, 0.126, 1, 1_000, Infinity, Number.NaN].map(bucketOf)).toEqual([
      0, 0, 0, 1, 6, 26, 59, 0,
    ]);
  });

  test("an empty histogram has no percentile", () => {
    expect(percentile([], 0.5)).toBeNull();
    expect(percentile([0, 0], 0.5)).toBeNull();
  });

  test("percentile() is within a factor of the square root of two of the exact value", () => {
    const values = fc.array(fc.double({ min: 0.2, max: 3_600_000, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(values, fc.constantFrom(0.5, 0.95, 0.99, 1), (all, share) => {
        const exact = all.toSorted((a, b) => a - b)[Math.ceil(share * all.length) - 1] ?? 0;
        const ratio = (percentile(histogramOf(all), share) ?? 0) / exact;
        expect(ratio).toBeGreaterThan(Math.SQRT1_2 - 1e-9);
        expect(ratio).toBeLessThan(Math.SQRT2 + 1e-9);
      }),
    );
  });

  test("percentile() interpolates within a bucket: a fifth for values that are spread", () => {
    const spread = Array.from({ length: 10_000 }, (_, n) => n / 10);
    for (const share of [0.5, 0.95, 0.99]) {
      const ratio = (percentile(histogramOf(spread), share) ?? 0) / (share * 1_000);
      expect(Math.abs(ratio - 1)).toBeLessThan(0.05);
    }
  });

  test("addAll() gives the histogram of both", () => {
    const [few, many] = [
      [0.1, 5],
      [7, 900, 12],
    ];
    const sum = histogramOf(few);
    addAll(sum, histogramOf(many));
    expect(sum).toEqual(histogramOf([...few, ...many]));
  });
});
