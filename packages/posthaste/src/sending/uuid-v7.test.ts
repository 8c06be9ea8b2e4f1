import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { isUuid, uuidV7 } from "./uuid-v7.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2100, 0, 1) }));
afterEach(() => void vi.useRealTimers());

function isRising(ids: readonly string[]): boolean {
  return ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? ""));
}

describe("uuidV7", () => {
  test("makes a UUID of version 7 that begins with the time", () => {
    const id = uuidV7();
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(Date.UTC(2100, 0, 1));
  });

  test("makes rising ids within a millisecond, also beyond the 4,096 that fit", () => {
    vi.setSystemTime(Date.UTC(2100, 0, 2));
    const ids = Array.from({ length: 10_000 }, uuidV7);
    expect(isRising(ids)).toBe(true);
    expect(new Set(ids).size).toBe(10_000);
  });

  test("makes rising ids when the clock is set back", () => {
    vi.setSystemTime(Date.UTC(2100, 0, 3));
    const before = uuidV7();
    vi.setSystemTime(Date.UTC(2099, 0, 1));
    expect(isRising([before, uuidV7(), uuidV7()])).toBe(true);
  });

  test.each([
    ["0190163d-8694-739b-aea5-966c26f8ad91", true],
    ["0190163D-8694-739B-AEA5-966C26F8AD91", false],
    ["0190163d8694739baea5966c26f8ad91", false],
    ["0190163d-8694-739b-aea5-966c26f8ad91\n", false],
    ["", false],
    [5, false],
    [null, false],
  ])("isUuid: %j in our spelling is %s", (text, is) => expect(isUuid(text)).toBe(is));
});
