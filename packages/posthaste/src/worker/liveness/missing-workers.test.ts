import { describe, expect, test } from "vitest";
import type { Look, MissingWorker } from "../../store/queries/worker/liveness.ts";
import { MissingWorkers } from "./missing-workers.ts";

const a = { workerId: "a", key: 1, missingMs: 4_000 };
const b = { workerId: "b", key: 2, missingMs: 4_000 };

/** A look in the middle of a watch, or by a watcher that takes over from none. */
const seen = (...missing: MissingWorker[]): Look => ({ missing, isHandover: false });

describe("MissingWorkers", () => {
  test("reports a worker whose lock is missing at every look for the whole grace", () => {
    const watch = new MissingWorkers(5_000, 1_000);
    for (let now = 0; now < 5_000; now += 1_000) expect(watch.look(seen(a), now)).toEqual([]);
    expect(watch.look(seen(a, b), 5_000)).toEqual([a]);
    expect(watch.look(seen(b), 6_000)).toEqual([]);
  });

  test("does not report a worker whose lock was there in between", () => {
    const watch = new MissingWorkers(5_000, 1_000);
    for (let now = 0; now <= 20_000; now += 1_000)
      expect(watch.look(now % 4_000 === 3_000 ? seen() : seen(a), now)).toEqual([]);
  });

  test("does not report a worker that came back with another lock and lost it", () => {
    const watch = new MissingWorkers(5_000, 1_000);
    for (let now = 0; now <= 4_000; now += 1_000) watch.look(seen(a), now);
    expect(watch.look(seen({ ...a, key: 9 }), 5_000)).toEqual([]);
  });

  test("does not report a worker when the watcher itself was frozen", () => {
    const watch = new MissingWorkers(5_000, 1_000);
    watch.look(seen(a), 0);
    expect(watch.look(seen(a), 60_000)).toEqual([]);
    expect(watch.look(seen(a), 61_000)).toEqual([]);
  });

  test("looks again when a grace ends, before the next round", () => {
    const watch = new MissingWorkers(5_000, 1_250);
    expect(watch.nextLookMs(1_250, 0)).toBe(1_250);
    watch.look(seen(a), 0);
    expect(watch.nextLookMs(1_250, 4_900)).toBe(100);
    expect(watch.nextLookMs(1_250, 5_000)).toBe(1_250);
  });

  test("continues the count of a watcher that looked until a moment ago", () => {
    const watch = new MissingWorkers(5_000, 1_250);
    expect(watch.look({ missing: [a], isHandover: true }, 100_000)).toEqual([]);
    expect(watch.look(seen(a), 101_000)).toEqual([a]);
  });

  test("does not report a worker from an old record of another watcher", () => {
    const watch = new MissingWorkers(5_000, 1_250);
    expect(watch.look(seen({ ...a, missingMs: 3_600_000 }), 100_000)).toEqual([]);
    expect(watch.look({ missing: [a], isHandover: true }, 101_000)).toEqual([]);
  });
});
