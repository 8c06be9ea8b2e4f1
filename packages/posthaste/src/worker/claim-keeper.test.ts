import { expect, test } from "vitest";
import { servicesWithoutDatabase } from "../../test/support/run-services.ts";
import { silentLogger } from "../../test/support/loggers.ts";
import type { Connection } from "../store/connection.ts";
import type { Store } from "../store/store.ts";
import { keepClaims } from "./claim-keeper.ts";
import { HeldTasks } from "./held-tasks.ts";
import { TaskRun } from "./task-run.ts";

function runOf(id: string): TaskRun {
  const place = { queue: "q", priority: 7, enqueuedAt: 0, runNo: 1, retryCount: 0 };
  const claimed = { id, claimId: `claim of ${id}`, name: "n", input: "null", options: null };
  return new TaskRun({ ...claimed, ...place }, undefined, servicesWithoutDatabase());
}

/** Compares with a database in which nothing is stored, while something begins. */
async function compare(held: HeldTasks, meanwhile: () => void): Promise<void> {
  const list = async (): Promise<never[]> => {
    meanwhile();
    return [];
  };
  await keepClaims({
    store: { holdClaims: { list } } as unknown as Store,
    connection: {} as Connection,
    workerId: "a worker",
    graceMs: 1_000,
    held,
    log: silentLogger,
  });
}

test("what ran before and is not stored is lost; what began while that was read is not", async () => {
  const held = new HeldTasks();
  const [before, meanwhile] = [runOf("a"), runOf("b")];
  held.running.add(before);
  await compare(held, () => held.running.add(meanwhile));
  expect([before.isAborted, meanwhile.isAborted]).toEqual([true, false]);
});
