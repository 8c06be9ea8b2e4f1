import { describe, expect, test } from "vitest";
import type { EndedTask } from "./ended-task.ts";
import { Rollups } from "./rollups.ts";

function ended(edge: EndedTask["edge"], more: Partial<EndedTask> = {}): EndedTask {
  const place = { name: "n", queue: "q", priority: 50 };
  return { id: "t", claimId: "c", ...place, edge, ran: true, ...more };
}

const none = { completed: 0, failed: 0, cancelled: 0, expired: 0, retried: 0 };
const written = (rollups: Rollups, ...ends: readonly EndedTask[]): void =>
  rollups.written(ends, { settled: ends.length, overridden: [] });

describe("Rollups", () => {
  test("count ends by what they led to, and returned tasks not at all", () => {
    const rollups = new Rollups();
    const edges = ["succeed", "fail", "expire", "retry", "requeue", "release"] as const;
    written(rollups, ...edges.map((edge) => ended(edge)), ended("retry", { ran: false }));
    const counts = { completed: 1, failed: 1, cancelled: 0, expired: 1, retried: 1 };
    expect(rollups.take()).toMatchObject([{ minute: null, name: "n", queue: "q", ...counts }]);
    expect(rollups.take()).toEqual([]);
  });

  test("count the status that the database decided", () => {
    const rollups = new Rollups();
    const ends = [ended("succeed", { id: "a" }), ended("retry", { id: "b" })];
    const overridden = [
      { id: "a", status: "CANCELLED" },
      { id: "b", status: "FAILED" },
    ];
    rollups.written(ends, { settled: 2, overridden });
    expect(rollups.take()).toMatchObject([{ ...none, cancelled: 1, failed: 1 }]);
  });

  test("count of repeated ends only those that are stored", () => {
    const rollups = new Rollups();
    rollups.found(
      [ended("succeed", { id: "a" }), ended("succeed", { id: "b" })],
      new Map([["b", "COMPLETED"]]),
    );
    expect(rollups.take()).toMatchObject([{ ...none, completed: 1 }]);
  });

  test("measure waits by the database's clock, once it is known", () => {
    const rollups = new Rollups();
    const times = { beganAt: 1_000, endedAt: 1_004 };
    written(rollups, ended("succeed", { enqueuedAt: 500_999, times }));
    rollups.setClock(500_000);
    written(rollups, ended("succeed", { enqueuedAt: 500_999, times }));
    const all = rollups.take();
    expect(all.map(({ run }) => run)).toEqual([
      [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
      [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    ]);
    expect(all.map(({ wait }) => wait)).toEqual([[], [0, 0, 0, 0, 0, 0, 1]]);
    expect(all.map(({ minute }) => minute === null)).toEqual([true, false]);
    expect(Number(all[1]?.minute) % 60_000).toBe(0);
  });
});
