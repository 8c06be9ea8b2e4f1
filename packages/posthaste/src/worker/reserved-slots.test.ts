import { expect, test } from "vitest";
import { SlotReserve, unlessItFails } from "./reserved-slots.ts";

test("slots are spoken for until each is used or all are given back, once", () => {
  const reserve = new SlotReserve();
  const slots = reserve.reserve(2);
  expect(reserve.count).toBe(2);
  expect([slots.use(), reserve.count]).toEqual([true, 1]);
  slots.giveBack();
  slots.giveBack();
  expect(reserve.count).toBe(0);
  expect([slots.use(), reserve.count]).toEqual([false, 0]);
});

test("a round trip that fails leaves none", async () => {
  const reserve = new SlotReserve();
  const failed = unlessItFails(reserve.reserve(3), Promise.reject(new Error("gone")));
  await expect(failed).rejects.toThrow("gone");
  expect(reserve.count).toBe(0);
  await unlessItFails(reserve.reserve(3), Promise.resolve());
  expect(reserve.count).toBe(3);
});
