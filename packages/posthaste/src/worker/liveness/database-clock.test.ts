import { describe, expect, test } from "vitest";
import { DatabaseClock } from "./database-clock.ts";

describe("DatabaseClock", () => {
  test("takes the middle between question and answer", () => {
    const clock = new DatabaseClock();
    clock.answered(5_000, 100, 120);
    expect(clock.aheadMs).toBe(4_890);
  });

  test("keeps a faster answer for a minute, and then takes any", () => {
    const clock = new DatabaseClock();
    clock.answered(1_000, 0, 2);
    clock.answered(2_500, 1_000, 1_400);
    expect(clock.aheadMs).toBe(999);
    clock.answered(3_003, 2_000, 2_001);
    expect(clock.aheadMs).toBe(1_002.5);
    clock.answered(70_000, 62_001, 62_101);
    expect(clock.aheadMs).toBe(7_949);
  });
});
