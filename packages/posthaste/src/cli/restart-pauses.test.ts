import { describe, expect, test } from "vitest";
import { RestartPauses } from "./restart-pauses.ts";

describe("RestartPauses", () => {
  test("grows from half a second to half a minute, each with jitter", () => {
    const pauses = new RestartPauses();
    for (const plain of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      const pauseMs = pauses.after(59_999);
      expect(pauseMs).toBeGreaterThanOrEqual(plain * 0.75);
      expect(pauseMs).toBeLessThanOrEqual(Math.min(30_000, plain * 1.25));
    }
  });

  test("starts again after a process ran for a minute", () => {
    const pauses = new RestartPauses();
    for (let n = 0; n < 6; n++) pauses.after(0);
    expect(pauses.after(60_000)).toBeLessThanOrEqual(625);
  });
});
