import { describe, expect, test } from "vitest";
import type { TaskRun } from "../task-run.ts";
import { SlotLedger } from "./slot-ledger.ts";

describe("SlotLedger", () => {
  test("a reserved slot is occupied until it is used or released, once", () => {
    const ledger = new SlotLedger(() => 0);
    const slots = ledger.reserve("claim", 2);
    expect(ledger.occupied).toBe(2);
    expect([slots.use(), ledger.occupied]).toEqual([true, 1]);
    slots.release();
    slots.release();
    expect(ledger.occupied).toBe(0);
    expect([slots.use(), ledger.occupied]).toEqual([false, 0]);
  });

  test("attempts, reservations of every purpose and unsent ends add up", () => {
    let ends = 0;
    const ledger = new SlotLedger(() => ends);
    ledger.running.add({} as TaskRun);
    const chained = ledger.reserve("chained claim", 2);
    ledger.reserve("direct start", 3);
    ledger.reserve("claim", 4);
    ends = 5;
    expect(ledger.occupied).toBe(15);
    chained.release();
    expect(ledger.occupied).toBe(13);
  });
});
