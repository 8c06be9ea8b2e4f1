import { expect, test } from "vitest";
import type { Look, MissingWorker } from "../../store/queries/liveness.ts";
import { DeathWatch } from "./death-watch.ts";

const a = { workerId: "a", key: 1, missingMs: 4_000 };
const b = { workerId: "b", key: 2, missingMs: 4_000 };

/** A look in the middle of a watch, or by somebody who begins on its own. */
const seen = (...missing: MissingWorker[]): Look => ({ missing, isHandover: false });

test("a lock that has been missing at every look for the whole grace", () => {
  const watch = new DeathWatch(5_000, 1_000);
  for (let now = 0; now < 5_000; now += 1_000) expect(watch.look(seen(a), now)).toEqual([]);
  expect(watch.look(seen(a, b), 5_000)).toEqual([a]);
  expect(watch.look(seen(b), 6_000)).toEqual([]);
});

test("false alarm: it was there in between", () => {
  const watch = new DeathWatch(5_000, 1_000);
  for (let now = 0; now <= 20_000; now += 1_000)
    expect(watch.look(now % 4_000 === 3_000 ? seen() : seen(a), now)).toEqual([]);
});

test("false alarm: the worker has come back with another lock, and lost that too", () => {
  const watch = new DeathWatch(5_000, 1_000);
  for (let now = 0; now <= 4_000; now += 1_000) watch.look(seen(a), now);
  expect(watch.look(seen({ ...a, key: 9 }), 5_000)).toEqual([]);
});

test("false alarm: the watcher itself was frozen, and nobody knows what happened meanwhile", () => {
  const watch = new DeathWatch(5_000, 1_000);
  watch.look(seen(a), 0);
  expect(watch.look(seen(a), 60_000)).toEqual([]);
  expect(watch.look(seen(a), 61_000)).toEqual([]);
});

test("it looks again when a grace ends, and not only at the next round", () => {
  const watch = new DeathWatch(5_000, 1_250);
  expect(watch.nextLookMs(1_250, 0)).toBe(1_250);
  watch.look(seen(a), 0);
  expect(watch.nextLookMs(1_250, 4_900)).toBe(100);
  expect(watch.nextLookMs(1_250, 5_000)).toBe(1_250);
});

test("who takes over from one that looked until a moment ago goes on where that has ended", () => {
  const watch = new DeathWatch(5_000, 1_250);
  expect(watch.look({ missing: [a], isHandover: true }, 100_000)).toEqual([]);
  expect(watch.look(seen(a), 101_000)).toEqual([a]);
});

test("false alarm: nobody has looked before, and what is written down is old", () => {
  const watch = new DeathWatch(5_000, 1_250);
  expect(watch.look(seen({ ...a, missingMs: 3_600_000 }), 100_000)).toEqual([]);
  expect(watch.look({ missing: [a], isHandover: true }, 101_000)).toEqual([]);
});
