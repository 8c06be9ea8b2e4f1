import { describe, expect, test } from "vitest";
import type { Attempt } from "../execution/attempt.ts";
import { SlotLedger } from "./slot-ledger.ts";

describe("SlotLedger", () => {
  test("counts a reserved slot until it is used or released, once", () => {
    const ledger = new SlotLedger(() => 0);
    const slots = ledger.reserve("claim", 2);
    expect(ledger.occupied).toBe(2);
    expect([slots.use(), ledger.occupied]).toEqual([true, 1]);
    slots.release();
    slots.release();
    expect(ledger.occupied).toBe(0);
    expect([slots.use(), ledger.occupied]).toEqual([false, 0]);
  });

  test("adds up attempts, reservations of every purpose and unsent ends", () => {
    let ends = 0;
    const ledger = new SlotLedger(() => ends);
    ledger.running.add({} as Attempt);
    const chained = ledger.reserve("chained claim", 2);
    ledger.reserve("direct start", 3);
    ledger.reserve("claim", 4);
    ends = 5;
    expect(ledger.occupied).toBe(15);
    chained.release();
    expect(ledger.occupied).toBe(13);
  });
});
