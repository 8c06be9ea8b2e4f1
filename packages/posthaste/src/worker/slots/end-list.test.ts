import { describe, expect, test } from "vitest";
import type { TaskEnd } from "../../store/queries/settle/settle-tasks.ts";
import { EndList, type UnwrittenEnd } from "./end-list.ts";

function ended(id: string, edge: TaskEnd["edge"] = "succeed"): TaskEnd {
  return { id, claimId: `claim of ${id}`, edge, ran: true };
}

function listOf(...ends: readonly TaskEnd[]): EndList<TaskEnd> {
  const list = new EndList<TaskEnd>(100);
  for (const end of ends) list.add(end);
  return list;
}

describe("EndList", () => {
  test("postpones a refused end by growing pauses of at most five seconds; other ends go on", () => {
    const [bad, good] = [ended("bad"), ended("good")];
    const list = listOf(bad, good);
    let now = 0;
    const waits: number[] = [];
    for (let n = 0; n < 8; n++) {
      list.refuse(bad, now);
      waits.push(list.rewriteInMs(now));
      expect(list.next(now)).toEqual([good]);
      now += list.rewriteInMs(now);
      expect(list.next(now)).toEqual([bad]);
    }
    expect(waits[0]).toBeLessThan(700);
    expect(waits[2]).toBeGreaterThan(waits[0] ?? 0);
    expect(Math.round(Math.max(...waits))).toBeLessThanOrEqual(5_000);
    expect([list.length, list.refusedCount]).toEqual([2, 1]);
    list.written([bad, good]);
    expect([list.length, list.refusedCount, list.rewriteInMs(now)]).toEqual([0, 0, Infinity]);
  });

  test("counts a refusal when another end with its edge was written since the last one", () => {
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

  test("does not count a postponed end as refused", () => {
    const [bad, other] = [ended("bad"), ended("other")];
    const list = listOf(bad, other);
    list.postpone(other, 0);
    expect([list.refusedCount, list.next(0)]).toEqual([1, [bad]]);
    expect(list.refuse(other, 0)).toEqual({ isFirst: false, count: 1 });
  });

  test("ends every pause with retryNow", () => {
    const bad = ended("bad");
    const list = listOf(bad);
    list.refuse(bad, 0);
    expect(list.next(0)).toEqual([]);
    list.retryNow();
    expect([list.hasNext(), list.next(0)]).toEqual([true, [bad]]);
  });

  describe("slots", () => {
    const occupying = (id: string): UnwrittenEnd => ({ ...ended(id), occupiesSlot: true });

    test("occupies the slot of an end until it is sent, and again if its answer is lost", () => {
      const [a, b, free] = [occupying("a"), occupying("b"), ended("free")];
      const list = new EndList<UnwrittenEnd>(100);
      list.add(a);
      list.add(free);
      expect(list.occupiedSlots).toBe(1);
      list.sent([a, free]);
      list.add(b);
      expect(list.occupiedSlots).toBe(1);
      list.takeBack();
      expect(list.occupiedSlots).toBe(2);
      list.sent([a, b, free]);
      list.written([a, free]);
      list.takeBack();
      expect(list.occupiedSlots).toBe(1);
      list.written([b]);
      expect(list.occupiedSlots).toBe(0);
    });

    test("ignores ends that another list wrote", () => {
      const a = occupying("a");
      const list = new EndList<UnwrittenEnd>(100);
      list.add(a);
      list.sent([a]);
      list.written([occupying("elsewhere")]);
      expect(list.occupiedSlots).toBe(0);
    });

    test("occupies the slot of a refused end until it is written", () => {
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

  test("reports a task as returning from the end of its attempt until that is written", () => {
    const back = ended("back", "retry");
    const list = listOf(back, ended("done"));
    expect([list.isReturning("back"), list.isReturning("done")]).toEqual([true, false]);
    list.written([back]);
    expect(list.isReturning("back")).toBe(false);
  });
});
