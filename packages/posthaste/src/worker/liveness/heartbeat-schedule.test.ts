import { describe, expect, test } from "vitest";
import { HeartbeatSchedule } from "./heartbeat-schedule.ts";

const claims = (...ids: string[]) => ids.map((id) => ({ id, claimId: `claim of ${id}` }));
const names = (due: readonly { id: string }[]): string[] => due.map(({ id }) => id).sort();

/** Sends all due heartbeats, as if every claim was found. */
function sendDue(schedule: HeartbeatSchedule, now: number): string[] {
  const due = schedule.due(now);
  schedule.sent(due, new Set(due.map(({ id }) => id)), now);
  return names(due);
}

describe("HeartbeatSchedule", () => {
  test("is first due one interval after the claim, so a shorter task has no heartbeat", () => {
    const schedule = new HeartbeatSchedule(1_000);
    schedule.hold(claims("a"), 0);
    expect(schedule.dueIn(0)).toBe(1_000);
    expect(sendDue(schedule, 999)).toEqual([]);
    schedule.hold([], 999);
    expect(sendDue(schedule, 5_000)).toEqual([]);
    expect(schedule.dueIn(5_000)).toBe(Infinity);
  });

  test("is due every interval after that", () => {
    const schedule = new HeartbeatSchedule(1_000);
    schedule.hold(claims("a"), 0);
    const beats = Array.from({ length: 50 }, (_, n) => n * 100).filter(
      (now) => sendDue(schedule, now).length > 0,
    );
    expect(beats).toEqual([1_000, 2_000, 3_000, 4_000]);
  });

  test("joins claims of different times in one statement", () => {
    const schedule = new HeartbeatSchedule(1_000);
    schedule.hold(claims("a"), 0);
    schedule.hold(claims("a", "b"), 300);
    schedule.hold(claims("a", "b", "c"), 700);
    const statements = Array.from({ length: 60 }, (_, n) => sendDue(schedule, n * 100)).filter(
      (due) => due.length > 0,
    );
    expect(statements.slice(0, 3)).toEqual([["a"], ["b"], ["c", "a"].sort()]);
    expect(statements.slice(-3)).toEqual([
      ["a", "b", "c"],
      ["a", "b", "c"],
      ["a", "b", "c"],
    ]);
  });

  test("starts again for a new claim of the same task", () => {
    const schedule = new HeartbeatSchedule(1_000);
    schedule.hold([{ id: "a", claimId: "one" }], 0);
    sendDue(schedule, 1_000);
    schedule.hold([{ id: "a", claimId: "two" }], 1_900);
    expect(schedule.dueIn(1_900)).toBe(1_000);
  });

  test("retries a claim that was not found after half an interval, and its age keeps counting", () => {
    const schedule = new HeartbeatSchedule(1_000);
    schedule.hold(claims("locked"), 0);
    const due = schedule.due(1_000);
    schedule.sent(due, new Set(), 1_000);
    expect(schedule.due(1_100)).toEqual([]);
    expect(names(schedule.due(1_500))).toEqual(["locked"]);
    expect(schedule.oldestSignMs(1_500)).toBe(1_500);
  });

  test("reports the claim with the longest silence as the oldest heartbeat", () => {
    const schedule = new HeartbeatSchedule(1_000);
    expect(schedule.oldestSignMs(9_000)).toBe(0);
    schedule.hold(claims("a"), 0);
    schedule.hold(claims("a", "b"), 400);
    expect(schedule.oldestSignMs(900)).toBe(900);
    sendDue(schedule, 1_000);
    expect(schedule.oldestSignMs(1_000)).toBe(600);
  });
});
