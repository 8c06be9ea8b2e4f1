import { expect, test } from "vitest";
import { Drain } from "./drain.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("what arrives is handed on in order, no more than so many in a turn", async () => {
  const seen: number[] = [];
  const drain = new Drain<number>(2, (item) => seen.push(item));
  for (const item of [1, 2, 3, 4, 5]) drain.push(item);
  await Promise.resolve();
  expect(seen).toEqual([1, 2]);
  await turn();
  expect(seen).toEqual([1, 2, 3, 4]);
  await turn();
  expect(seen).toEqual([1, 2, 3, 4, 5]);
});

test("what arrives while it hands on goes behind the rest, and later items begin anew", async () => {
  const seen: string[] = [];
  const drain: Drain<string> = new Drain(10, (item) => {
    seen.push(item);
    if (item === "first") drain.push("from within");
  });
  drain.push("first");
  drain.push("second");
  await turn();
  await turn();
  drain.push("later");
  await turn();
  expect(seen).toEqual(["first", "second", "from within", "later"]);
});
