import { expect, test } from "vitest";
import { Vouching } from "./vouching.ts";

const claims = (...ids: string[]) => ids.map((id) => ({ id, claimId: `claim of ${id}` }));
const names = (due: readonly { id: string }[]): string[] => due.map(({ id }) => id).sort();

/** Vouches for all that is due, as if all of it were found. */
function vouch(vouching: Vouching, now: number): string[] {
  const due = vouching.due(now);
  vouching.vouched(due, new Set(due.map(({ id }) => id)), now);
  return names(due);
}

test("the first heartbeat comes when a claim has been held for an interval, so a shorter task has none", () => {
  const vouching = new Vouching(1_000);
  vouching.hold(claims("a"), 0);
  expect(vouching.dueIn(0)).toBe(1_000);
  expect(vouch(vouching, 999)).toEqual([]);
  vouching.hold([], 999);
  expect(vouch(vouching, 5_000)).toEqual([]);
  expect(vouching.dueIn(5_000)).toBe(Infinity);
});

test("and from then on there is one every interval", () => {
  const vouching = new Vouching(1_000);
  vouching.hold(claims("a"), 0);
  const beats = Array.from({ length: 50 }, (_, n) => n * 100).filter(
    (now) => vouch(vouching, now).length > 0,
  );
  expect(beats).toEqual([1_000, 2_000, 3_000, 4_000]);
});

test("claims that began at different times soon share one statement", () => {
  const vouching = new Vouching(1_000);
  vouching.hold(claims("a"), 0);
  vouching.hold(claims("a", "b"), 300);
  vouching.hold(claims("a", "b", "c"), 700);
  const statements = Array.from({ length: 60 }, (_, n) => vouch(vouching, n * 100)).filter(
    (due) => due.length > 0,
  );
  expect(statements.slice(0, 3)).toEqual([["a"], ["b"], ["c", "a"].sort()]);
  expect(statements.slice(-3)).toEqual([
    ["a", "b", "c"],
    ["a", "b", "c"],
    ["a", "b", "c"],
  ]);
});

test("a new claim of the same task begins anew", () => {
  const vouching = new Vouching(1_000);
  vouching.hold([{ id: "a", claimId: "one" }], 0);
  vouch(vouching, 1_000);
  vouching.hold([{ id: "a", claimId: "two" }], 1_900);
  expect(vouching.dueIn(1_900)).toBe(1_000);
});

test("what was not found is tried again in half an interval, and its age goes on counting", () => {
  const vouching = new Vouching(1_000);
  vouching.hold(claims("locked"), 0);
  const due = vouching.due(1_000);
  vouching.vouched(due, new Set(), 1_000);
  expect(vouching.due(1_100)).toEqual([]);
  expect(names(vouching.due(1_500))).toEqual(["locked"]);
  expect(vouching.oldestSignMs(1_500)).toBe(1_500);
});

test("the oldest sign is that of the claim nobody has vouched for longest", () => {
  const vouching = new Vouching(1_000);
  expect(vouching.oldestSignMs(9_000)).toBe(0);
  vouching.hold(claims("a"), 0);
  vouching.hold(claims("a", "b"), 400);
  expect(vouching.oldestSignMs(900)).toBe(900);
  vouch(vouching, 1_000);
  expect(vouching.oldestSignMs(1_000)).toBe(600);
});
