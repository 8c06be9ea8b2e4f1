import { describe, expect, test } from "vitest";
import type { SettledTask } from "../../store/queries/settle-tasks.ts";
import { EndList, type UnwrittenEnd } from "./end-list.ts";

function ended(id: string, edge: SettledTask["edge"] = "succeed"): SettledTask {
  return { id, claimId: `claim of ${id}`, edge, ran: true };
}

function listOf(...ends: readonly SettledTask[]): EndList<SettledTask> {
  const list = new EndList<SettledTask>(100);
  for (const end of ends) list.add(end);
  return list;
}

test("a refused end waits for growing pauses of at most five seconds, and holds nobody up", () => {
  const [bad, good] = [ended("bad"), ended("good")];
  const list = listOf(bad, good);
  let now = 0;
  const waits: number[] = [];
  for (let n = 0; n < 8; n++) {
    list.refuse(bad, now);
    waits.push(list.retryInMs(now));
    expect(list.next(now)).toEqual([good]);
    now += list.retryInMs(now);
    expect(list.next(now)).toEqual([bad]);
  }
  expect(waits[0]).toBeLessThan(700);
  expect(waits[2]).toBeGreaterThan(waits[0] ?? 0);
  expect(Math.round(Math.max(...waits))).toBeLessThanOrEqual(5_000);
  expect([list.length, list.refusedCount]).toEqual([2, 1]);
  list.written([bad, good]);
  expect([list.length, list.refusedCount, list.retryInMs(now)]).toEqual([0, 0, Infinity]);
});

test("a refusal counts when another end with its edge was written since the one before", () => {
  const bad = ended("bad");
  const list = listOf(bad);
  expect(list.refuse(bad, 0)).toEqual({ isFirst: true, count: 1 });
  expect(list.refuse(bad, 0)).toEqual({ isFirst: false, count: 1 });
  list.written([ended("given back", "release")]);
  expect(list.refuse(bad, 0)).toMatchObject({ count: 1 });
  list.written([ended("good")]);
  list.written([ended("good, too")]);
  expect(list.refuse(bad, 0)).toMatchObject({ count: 2 });
  expect(list.refuse(bad, 0)).toMatchObject({ count: 2 });
});

test("what was postponed beside others is not counted as refused", () => {
  const [bad, other] = [ended("bad"), ended("other")];
  const list = listOf(bad, other);
  list.postpone(other, 0);
  expect([list.refusedCount, list.next(0)]).toEqual([1, [bad]]);
  expect(list.refuse(other, 0)).toEqual({ isFirst: false, count: 1 });
});

test("retryNow ends every pause", () => {
  const bad = ended("bad");
  const list = listOf(bad);
  list.refuse(bad, 0);
  expect(list.next(0)).toEqual([]);
  list.retryNow();
  expect([list.hasNext(), list.next(0)]).toEqual([true, [bad]]);
});

describe("slots", () => {
  const occupying = (id: string): UnwrittenEnd => ({ ...ended(id), occupiesSlot: true });

  test("an end occupies its slot until it is sent, and again if its answer is lost", () => {
    const [a, b, free] = [occupying("a"), occupying("b"), ended("free")];
    const list = new EndList<UnwrittenEnd>(100);
    list.add(a);
    list.add(free);
    expect(list.occupiedSlots).toBe(1);
    list.sent([a, free]);
    list.add(b);
    expect(list.occupiedSlots).toBe(1);
    list.notSent();
    expect(list.occupiedSlots).toBe(2);
    list.sent([a, b, free]);
    list.written([a, free]);
    list.notSent();
    expect(list.occupiedSlots).toBe(1);
    list.written([b]);
    expect(list.occupiedSlots).toBe(0);
  });

  test("ends that another list wrote change nothing", () => {
    const a = occupying("a");
    const list = new EndList<UnwrittenEnd>(100);
    list.add(a);
    list.sent([a]);
    list.written([occupying("elsewhere")]);
    expect(list.occupiedSlots).toBe(0);
  });

  test("a refused end occupies its slot until it is written", () => {
    const [bad, good] = [occupying("bad"), occupying("good")];
    const list = new EndList<UnwrittenEnd>(100);
    list.add(bad);
    list.add(good);
    list.refuse(bad, 0);
    expect(list.occupiedSlots).toBe(2);
    list.sent([good]);
    expect(list.occupiedSlots).toBe(1);
    list.written([good]);
    list.written([bad]);
    expect(list.occupiedSlots).toBe(0);
  });
});

test("a task is returning from the end of its attempt until that is written", () => {
  const back = ended("back", "retry");
  const list = listOf(back, ended("done"));
  expect([list.isReturning("back"), list.isReturning("done")]).toEqual([true, false]);
  list.written([back]);
  expect(list.isReturning("back")).toBe(false);
});
