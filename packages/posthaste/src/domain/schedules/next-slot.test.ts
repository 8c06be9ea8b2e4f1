import { describe, expect, test } from "vitest";
import { nextSlots, type Timing } from "./next-slot.ts";
import type { Pattern } from "./patterns.ts";

const noon = { hour: 12, minute: 0, second: 0 };

function slots(
  pattern: Pattern,
  timezone: string,
  after: string,
  { count = 3, ...bounds }: { count?: number } & Partial<Timing> = {},
): string[] {
  const timing: Timing = { pattern, timezone, startAt: null, endAt: null, ...bounds };
  return nextSlots(timing, Date.parse(after), count).map((slot) =>
    new Date(slot).toISOString().replace(".000Z", "Z"),
  );
}

describe("nextSlots", () => {
  test("counts an interval from 1970, or from startAt", () => {
    const every = { kind: "every", ms: 25 * 60_000 } as const;
    expect(slots(every, "UTC", "1970-01-01T00:25:00Z", { count: 2 })).toEqual([
      "1970-01-01T00:50:00Z",
      "1970-01-01T01:15:00Z",
    ]);
    const startAt = Date.parse("2026-01-01T00:10:00Z");
    expect(slots(every, "UTC", "2025-06-01T00:00:00Z", { count: 2, startAt })).toEqual([
      "2026-01-01T00:10:00Z",
      "2026-01-01T00:35:00Z",
    ]);
  });

  test("keeps an interval's grid over a clock change", () => {
    const every = { kind: "every", ms: 3_600_000 } as const;
    expect(slots(every, "Europe/Berlin", "2026-03-29T00:00:00Z")).toEqual([
      "2026-03-29T01:00:00Z",
      "2026-03-29T02:00:00Z",
      "2026-03-29T03:00:00Z",
    ]);
  });

  test("fires a daily slot inside a gap once, at the first instant after it", () => {
    const daily = { kind: "daily", hour: 2, minute: 30, second: 0 } as const;
    expect(slots(daily, "Europe/Berlin", "2026-03-27T12:00:00Z")).toEqual([
      "2026-03-28T01:30:00Z",
      "2026-03-29T01:00:00Z",
      "2026-03-30T00:30:00Z",
    ]);
  });

  test("fires a daily slot in an overlap once, at the earlier instant", () => {
    const daily = { kind: "daily", hour: 2, minute: 30, second: 0 } as const;
    expect(slots(daily, "Europe/Berlin", "2026-10-24T12:00:00Z", { count: 2 })).toEqual([
      "2026-10-25T00:30:00Z",
      "2026-10-26T01:30:00Z",
    ]);
  });

  test("does not fire the second time when it is asked between both times of an overlap", () => {
    const daily = { kind: "daily", hour: 2, minute: 30, second: 0 } as const;
    expect(slots(daily, "Europe/Berlin", "2026-10-25T01:10:00Z", { count: 1 })).toEqual([
      "2026-10-26T01:30:00Z",
    ]);
  });

  test("collapses the cron slots of a gap into one, and fires those of an overlap once", () => {
    const cron = { kind: "cron", cron: "0 */20 * * * *" } as const;
    expect(slots(cron, "America/New_York", "2026-03-08T06:40:00Z", { count: 2 })).toEqual([
      "2026-03-08T07:00:00Z",
      "2026-03-08T07:20:00Z",
    ]);
    expect(slots(cron, "America/New_York", "2026-11-01T05:30:00Z", { count: 3 })).toEqual([
      "2026-11-01T05:40:00Z",
      "2026-11-01T07:00:00Z",
      "2026-11-01T07:20:00Z",
    ]);
  });

  test("fires a cron slot at the second end of an overlap, where the clock shows it first", () => {
    const cron = { kind: "cron", cron: "0 3 * * *" } as const;
    expect(slots(cron, "Europe/Berlin", "2026-10-25T01:30:00Z", { count: 1 })).toEqual([
      "2026-10-25T02:00:00Z",
    ]);
  });

  test("reads cron text with seconds", () => {
    expect(slots({ kind: "cron", cron: "15 30 9 * * 1-5" }, "UTC", "2026-05-01T09:30:15Z")).toEqual(
      ["2026-05-04T09:30:15Z", "2026-05-05T09:30:15Z", "2026-05-06T09:30:15Z"],
    );
  });

  test("fires hourly whenever the local clock shows the minute", () => {
    const hourly = { kind: "hourly", minute: 30, second: 5 } as const;
    expect(slots(hourly, "Europe/Berlin", "2026-10-24T23:45:00Z", { count: 3 })).toEqual([
      "2026-10-25T00:30:05Z",
      "2026-10-25T01:30:05Z",
      "2026-10-25T02:30:05Z",
    ]);
    expect(slots(hourly, "Asia/Kathmandu", "2026-10-24T23:45:00Z", { count: 2 })).toEqual([
      "2026-10-24T23:45:05Z",
      "2026-10-25T00:45:05Z",
    ]);
    // The clock goes back by half an hour: it shows 01:45 twice, half an hour apart.
    const quarterTo = { kind: "hourly", minute: 45, second: 0 } as const;
    expect(slots(quarterTo, "Australia/Lord_Howe", "2026-04-04T14:00:00Z", { count: 3 })).toEqual([
      "2026-04-04T14:45:00Z",
      "2026-04-04T15:15:00Z",
      "2026-04-04T16:15:00Z",
    ]);
  });

  test("fires day 31 on the last day of a shorter month", () => {
    expect(slots({ kind: "monthly", day: 31, ...noon }, "UTC", "2024-01-31T12:00:00Z")).toEqual([
      "2024-02-29T12:00:00Z",
      "2024-03-31T12:00:00Z",
      "2024-04-30T12:00:00Z",
    ]);
  });

  test("fires weekly on each of its days", () => {
    const weekly = { kind: "weekly", days: [1, 7], ...noon } as const;
    expect(slots(weekly, "Asia/Tokyo", "2026-11-14T00:00:00Z")).toEqual([
      "2026-11-15T03:00:00Z",
      "2026-11-16T03:00:00Z",
      "2026-11-22T03:00:00Z",
    ]);
  });

  test("fires once for a day that a zone left out", () => {
    const daily = { kind: "daily", hour: 9, minute: 0, second: 0 } as const;
    expect(slots(daily, "Pacific/Apia", "2011-12-29T00:00:00Z")).toEqual([
      "2011-12-29T19:00:00Z",
      "2011-12-30T10:00:00Z",
      "2011-12-30T19:00:00Z",
    ]);
  });

  test("ends with endAt, which may be a slot", () => {
    const daily = { kind: "daily", ...noon } as const;
    const endAt = Date.parse("2026-01-02T12:00:00Z");
    expect(slots(daily, "UTC", "2026-01-01T00:00:00Z", { count: 5, endAt })).toEqual([
      "2026-01-01T12:00:00Z",
      "2026-01-02T12:00:00Z",
    ]);
  });
});
