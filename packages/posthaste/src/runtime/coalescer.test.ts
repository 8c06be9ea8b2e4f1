import { describe, expect, test } from "vitest";
import { Coalescer, type Outcome } from "./coalescer.ts";

/** A flush whose every call is held until the test lets it go. */
function held(maxItems = 100) {
  const flushes: { items: readonly string[]; finish: (outcomes?: Outcome<string>[]) => void }[] =
    [];
  const batcher = new Coalescer<string, string>(
    (items) =>
      new Promise((resolve) =>
        flushes.push({
          items,
          finish: (outcomes) => resolve(outcomes ?? items.map((item) => ({ answer: `${item}!` }))),
        }),
      ),
    maxItems,
  );
  return { batcher, flushes };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("Coalescer", () => {
  test("flushes items of the same turn together, at once", async () => {
    const { batcher, flushes } = held();
    const answers = Promise.all([batcher.add("a"), batcher.add("b")]);
    await turn();
    expect(flushes.map(({ items }) => items)).toEqual([["a", "b"]]);
    flushes[0]?.finish();
    expect(await answers).toEqual(["a!", "b!"]);
  });

  test("keeps items that arrive during a flush for the next one", async () => {
    const { batcher, flushes } = held();
    const first = batcher.add("a");
    await turn();
    const later = Promise.all([batcher.add("b"), batcher.add("c")]);
    await turn();
    expect(flushes).toHaveLength(1);
    flushes[0]?.finish();
    await first;
    await turn();
    expect(flushes[1]?.items).toEqual(["b", "c"]);
    flushes[1]?.finish();
    expect(await later).toEqual(["b!", "c!"]);
  });

  test("limits the size of a flush and keeps the order", async () => {
    const { batcher, flushes } = held(2);
    const all = Promise.all(["a", "b", "c"].map((item) => batcher.add(item)));
    await turn();
    flushes[0]?.finish();
    await turn();
    expect(flushes.map(({ items }) => items)).toEqual([["a", "b"], ["c"]]);
    flushes[1]?.finish();
    await all;
  });

  test("fails only the item that failed", async () => {
    const { batcher, flushes } = held();
    const all = Promise.allSettled([batcher.add("a"), batcher.add("b")]);
    await turn();
    flushes[0]?.finish([{ error: new Error("bad a") }, { answer: "b!" }]);
    expect(await all).toEqual([
      { status: "rejected", reason: new Error("bad a") },
      { status: "fulfilled", value: "b!" },
    ]);
  });

  test("fails all items of a failed flush and goes on with the next", async () => {
    let calls = 0;
    const batcher = new Coalescer<string, string>(async (items) => {
      if (++calls === 1) throw new Error("down");
      return items.map((item) => ({ answer: item }));
    }, 100);
    const first = await Promise.allSettled([batcher.add("a"), batcher.add("b")]);
    expect(first.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await batcher.add("c")).toBe("c");
  });

  test("rejects an item that got no answer", async () => {
    const { batcher, flushes } = held();
    const answer = batcher.add("a");
    await turn();
    flushes[0]?.finish([]);
    await expect(answer).rejects.toThrow("no answer");
  });

  test("is idle when no item is in flight or waiting", async () => {
    const { batcher, flushes } = held(1);
    await batcher.idle();
    const all = Promise.all([batcher.add("a"), batcher.add("b")]);
    let isIdle = false;
    const idle = batcher.idle().then(() => (isIdle = true));
    await turn();
    flushes[0]?.finish();
    await turn();
    expect(isIdle).toBe(false);
    flushes[1]?.finish();
    await Promise.all([all, idle]);
  });

  test("flushes an item that is added when the last flush ends", async () => {
    const batcher = new Coalescer<number, number>(
      async (items) => items.map((item) => ({ answer: item })),
      100,
    );
    let next = 0;
    for (let round = 0; round < 200; round++) next = await batcher.add(next + 1);
    expect(next).toBe(200);
  });
});
