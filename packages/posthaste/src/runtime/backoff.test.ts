import { afterEach, describe, expect, test, vi } from "vitest";
import { Backoff } from "./backoff.ts";

afterEach(() => vi.restoreAllMocks());

function pauses(count: number, random: number, options = { initialMs: 100, maxMs: 2_000 }) {
  vi.spyOn(Math, "random").mockReturnValue(random);
  const backoff = new Backoff(options);
  return Array.from({ length: count }, () => backoff.next());
}

describe("Backoff", () => {
  test("doubles its pauses up to the cap", () => {
    expect(pauses(7, 0.5)).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000]);
  });

  test("spreads each pause by a quarter, below the cap", () => {
    expect(pauses(2, 0)).toEqual([75, 150]);
    expect(pauses(6, 1).map(Math.round)).toEqual([125, 250, 500, 1_000, 2_000, 2_000]);
  });

  test("starts again after a success", () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const backoff = new Backoff({ initialMs: 100, maxMs: 2_000 });
    backoff.next();
    backoff.next();
    expect(backoff.pausesTaken).toBe(2);
    backoff.reset();
    expect([backoff.pausesTaken, backoff.next()]).toEqual([0, 100]);
  });

  test("does not overflow after a thousand failures in a row", () => {
    expect(pauses(1_100, 0.5).at(-1)).toBe(2_000);
  });

  test("keeps a pause within a quarter of its plain length and below the cap, whatever the jitter", () => {
    const options = { initialMs: 500, maxMs: 30_000 };
    const seen = new Set<number>();
    for (let n = 0; n < 500; n++) {
      const backoff = new Backoff(options);
      for (let attempt = 0; attempt < 9; attempt++) {
        const plain = Math.min(30_000, 500 * 2 ** attempt);
        const pause = backoff.next();
        seen.add(pause);
        expect(pause).toBeGreaterThanOrEqual(plain * 0.75);
        expect(pause).toBeLessThanOrEqual(Math.min(30_000, plain * 1.25));
      }
    }
    expect(seen.size).toBeGreaterThan(3_000); // no two workers wait for the same time
  });

  test("obeys a cap below the first pause from the start", () => {
    expect(pauses(3, 0.5, { initialMs: 60_000, maxMs: 500 })).toEqual([500, 500, 500]);
  });
});
