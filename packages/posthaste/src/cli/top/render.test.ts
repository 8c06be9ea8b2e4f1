import { describe, expect, test } from "vitest";
import type { QueueInfo, WorkerInfo } from "../../admin/admin.ts";
import { widthOf } from "../terminal-text.ts";
import type { Key } from "./keys.ts";
import { renderTop } from "./render.ts";
import type { Snapshot } from "./snapshot.ts";
import { initialState, press, withDetail, withSnapshot, type TopState } from "./state.ts";

const now = Date.now();
const ago = (ms: number): Date => new Date(now - ms);

function queue(name: string, pending: number, pausedAt: Date | null = null): QueueInfo {
  return { name, pausedAt, pending, claimed: 0, running: 2 };
}

const worker: WorkerInfo = {
  id: "w-1",
  name: "ada",
  hostname: "host",
  pid: 7,
  version: "1.0.0",
  queues: ["mail", "bulk"],
  taskNames: ["greet"],
  concurrency: 4,
  livenessKey: 1,
  metadata: {},
  state: "running",
  startedAt: ago(60_000),
  lastHeartbeatAt: ago(3_500),
  diedAt: null,
  isStale: false,
  loopBlockedMs: 0,
  running: 2,
  claimed: 1,
};

function snapshotOf(given: Partial<Snapshot> = {}): Snapshot {
  return {
    takenAt: ago(100),
    queues: [queue("bulk", 10), queue("mail", 30)],
    workers: [worker],
    failures: [],
    recoveries: [],
    runs: [],
    schedules: [],
    samples: [
      { workerId: "w-1", takenAt: ago(0), loopLagMs: 350, cpuPercent: 12, rssBytes: 104_857_600 },
    ],
    counters: { at: 0, sent: 0, ended: 0 },
    ...given,
  };
}

const size = { columns: 80, rows: 24 };
const begun = initialState("db.example/shop");
const live = withSnapshot(begun, snapshotOf());

function pressed(state: TopState, ...keys: readonly Key[]): TopState {
  return keys.reduce<TopState>((before, key) => press(before, key).state, state);
}

function linesOf(state: TopState): string[] {
  return renderTop(state, size, now).map((line) => line.trimEnd());
}

describe("renderTop", () => {
  test.each([
    [80, 24],
    [200, 60],
    [40, 10],
    [20, 5],
    [1, 1],
  ])("fills %i×%i exactly, whatever is shown", (columns, rows) => {
    const many = Array.from({ length: 300 }, (_, n) => queue(`queue-${"x".repeat(n % 90)}${n}`, n));
    const full = withSnapshot(begun, snapshotOf({ queues: many }));
    for (const state of [begun, live, full, pressed(full, "last"), pressed(full, "help")]) {
      const lines = renderTop(state, { columns, rows }, now);
      expect(lines).toHaveLength(rows);
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
    }
  });

  test("shows queues with their share of the backlog, and sums above them", () => {
    const lines = linesOf(live);
    expect(lines[1]).toContain("waiting 40  slots 4/4");
    expect(lines[2]).toContain("▸1 Queues 2  2 Workers 1");
    expect(lines.slice(4, 7)).toEqual([
      " QUEUE  STATE  PENDING  CLAIMED  RUNNING  BACKLOG",
      "▸bulk   open        10        0        2  ▰▰▰▱▱▱▱▱▱▱",
      " mail   open        30        0        2  ▰▰▰▰▰▰▰▰▱▱",
    ]);
  });

  test("shows slots, loop lag, processor, memory and heartbeat of workers", () => {
    const [, row] = linesOf(pressed(live, "next")).slice(4);
    expect(row).toMatch(
      /^▸ada +running +▰▰▰▰▰▱▱▱▱▱ 2\/4 +350 ms +12 % +100 MB +\d s ago +mail, bulk$/,
    );
  });

  test("counts workers that need a look", () => {
    const sick = [
      { ...worker, isStale: true },
      { ...worker, id: "w-2", state: "blocked" as const },
    ];
    expect(linesOf(withSnapshot(begun, snapshotOf({ workers: sick })))[1]).toContain("2 sick");
  });

  test("shows rates from the differences of counters, and none from counters that were reset", () => {
    const later = snapshotOf({ counters: { at: 2_000, sent: 100, ended: 50 } });
    const busy = withSnapshot(live, later);
    expect(linesOf(busy)[1]).toMatch(/sent 50\/s ▁{11}█ {2}ended 25\/s/);
    const reset = withSnapshot(busy, snapshotOf({ counters: { at: 4_000, sent: 1, ended: 0 } }));
    expect(reset.rates).toEqual(busy.rates);
  });

  test("says how old the facts are when the database is away, and that they are frozen", () => {
    const away = { ...live, problem: "cannot connect: nothing listens there" };
    const later = renderTop(away, size, now + 7_000);
    expect(later[0]).toContain("7.1 s old, retrying");
    expect(later[1]).toContain("cannot connect");
    expect(later[5]).toContain("bulk");
    expect(linesOf(pressed(live, "freeze"))[0]).toContain("frozen for");
  });

  test("shows names with control characters without obeying them", () => {
    const evil = withSnapshot(begun, snapshotOf({ queues: [queue("a\u001b[2Jb\nc", 1)] }));
    expect(linesOf(evil)[5]).toContain("a [2Jb c");
  });
});

describe("press", () => {
  test("moves the selection within the rows, and pages with PgDn, g and G", () => {
    const indexOf = (...keys: readonly Key[]): number | undefined =>
      pressed(live, ...keys).selected[0]?.index;
    expect(indexOf("up")).toBe(0);
    expect(indexOf("down", "down", "down")).toBe(1);
    expect(indexOf("last", "first")).toBe(0);
    expect(indexOf("pageDown")).toBe(1);
  });

  test("keeps the selected row selected when it moves", () => {
    const onMail = pressed(live, "down");
    const three = [queue("a", 1), queue("b", 1), queue("mail", 1)];
    const moved = withSnapshot(onMail, snapshotOf({ queues: three }));
    expect(moved.selected[0]).toEqual({ index: 2, key: "mail" });
    const atTop = withSnapshot(live, snapshotOf({ queues: three }));
    expect(atTop.selected[0]).toEqual({ index: 0, key: "a" });
    const gone = withSnapshot(moved, snapshotOf({ queues: [] }));
    expect(gone.selected[0]).toEqual({ index: 0, key: undefined });
  });

  test("opens the selected worker, scrolls it, and goes back", () => {
    const { state, effect } = press(pressed(live, "next"), "open");
    const target = { kind: "worker", id: "w-1" } as const;
    expect(effect).toEqual({ open: target });
    const opened = withDetail(state, target, { kind: "worker", worker });
    expect(linesOf(opened)[4]).toBe("worker w-1  ada");
    const scrolled = pressed(opened, "last", "up");
    expect(linesOf({ ...scrolled })).toEqual(linesOf(opened)); // it is shorter than the screen
    expect(pressed(opened, "back").view).toEqual({ kind: "panel" });
    expect(withDetail(live, target, { kind: "worker", worker })).toBe(live);
  });

  test("opens nothing for a queue, and q quits only from a panel", () => {
    expect(press(live, "open")).toEqual({ state: live });
    expect(press(live, "quit").effect).toBe("quit");
    expect(press(pressed(live, "help"), "quit")).toEqual({ state: live });
    expect(press(pressed(live, "help"), "interrupt").effect).toBe("interrupt");
  });

  test("goes round the panels, and ignores a number without one", () => {
    expect(pressed(live, "previous").panel).toBe(5);
    expect(pressed(live, "previous", "next").panel).toBe(0);
    expect(pressed(live, { panel: 2 }).panel).toBe(2);
    expect(pressed(live, { panel: 8 }).panel).toBe(0);
  });
});
